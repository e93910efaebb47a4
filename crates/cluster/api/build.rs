//! Puts the definitions that are checked in below `deploy/crds` and `deploy/vms` into the program, by file name.
//!
//! Deriving a definition takes code and time that only whoever changes a type needs; everybody else
//! reads the result. `scripts/generated` writes the files, a test compares them with the types. They are
//! put in as JSON, because a server reads all of them when it starts and YAML takes it five times as long, and compressed,
//! because they say the same again and again: a tenth is left of them.

use std::{env, error::Error, fmt::Write as _, fs, io::Write as _, path::Path};

use flate2::{Compression, write::ZlibEncoder};
use netloom_schema::decode;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    for folder in ["crds", "vms"] {
        let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../../deploy").join(folder);
        let folder = fs::canonicalize(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        println!("cargo::rerun-if-changed={}", folder.display());
        for entry in fs::read_dir(&folder)? {
            // The other manifests there are no definitions.
            files.extend(Some(entry?.path()).filter(|file| file.to_string_lossy().contains('_')));
        }
    }
    files.sort();
    let out = env::var("OUT_DIR")?;
    let out = Path::new(&out);
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.file_stem().and_then(|name| name.to_str()).ok_or("a file name is not text")?;
        let read = decode::yaml(&fs::read(&file)?, decode::Limits::default());
        let json = read.map_err(|error| format!("{}: {error}", file.display()))?.value.to_string();
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        packed.write_all(json.as_bytes())?;
        let packed_file = format!("{name}.json.z");
        fs::write(out.join(&packed_file), packed.finish()?)?;
        writeln!(list, "    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{packed_file}\"))),")?;
    }
    list.push_str("]\n");
    fs::write(out.join("definitions.rs"), list)?;
    Ok(())
}
