//! Writes the definitions of all kinds, as their types derive them, below a folder.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::args_os().nth(1).ok_or("usage: definitions FOLDER")?;
    for file in netloom_generate::derived() {
        let path = Path::new(&root).join(&file.path);
        fs::create_dir_all(path.parent().ok_or("a file lies in a folder")?)?;
        fs::write(path, file.content)?;
    }
    Ok(())
}
