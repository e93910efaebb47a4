//! Memory of a burst is the kernel's again.

use std::fs;

const PIECES: usize = 100_000;
const PIECE: usize = 512;

/// Memory of this process that is no file's, in bytes.
fn own() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells about this process");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it tells what is its own");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number of KiB") * 1024
}

#[test]
#[cfg(target_env = "gnu")]
fn what_a_burst_took_is_given_back() {
    let before = own();
    let burst: Vec<Box<[u8; PIECE]>> = (0..PIECES).map(|_| Box::new([1; PIECE])).collect();
    // Stays above the burst, so that the allocator does not give it back by itself.
    let newest = Box::new([1_u8; PIECE]);
    drop(burst);
    assert!(
        own().saturating_sub(before) > PIECES * PIECE / 2,
        "the burst is gone by itself, so that this shows nothing"
    );
    netloom_malloc_trim::give_back();
    let more = own().saturating_sub(before);
    assert!(more < PIECES * PIECE / 10, "{more} bytes more than before the burst");
    drop(newest);
}
