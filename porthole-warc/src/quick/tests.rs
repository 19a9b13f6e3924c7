use std::io::Read;

use flate2::read::GzDecoder;
use proptest::prelude::*;

use super::*;

/// Compresses with a used and with a new compressor, and decompresses.
fn check(gzip: &mut QuickGzip, parts: &[&[u8]]) -> usize {
    let mut packed = b"before".to_vec();
    gzip.pack(parts, None, &mut packed);
    let mut alone = b"before".to_vec();
    QuickGzip::new().pack(parts, None, &mut alone);
    assert!(packed == alone, "output depends only on the parts");
    let unpacked = parts.concat();
    assert!(unpack(&packed[6..]) == unpacked);
    check_stored(gzip, parts);
    let mut ahead = Vec::new();
    check_ahead(gzip, parts, &mut ahead);
    assert!(ahead.len() + 6 <= packed.len() + packed.len() / 16 + 64, "{} {}", ahead.len(), packed.len());
    let blocks = unpacked.len() / BLOCK + 1;
    assert!(packed.len() <= 6 + 18 + unpacked.len() + 10 * blocks + 1, "at most the size of stored blocks");
    packed.len() - 6
}

/// Stores the last parts, from each of them on, and decompresses.
fn check_stored(gzip: &mut QuickGzip, parts: &[&[u8]]) {
    for packed_parts in 0..=parts.len() {
        let (first, stored) = parts.split_at(packed_parts);
        let mut packed = Vec::new();
        gzip.pack_and_store(first, stored, &mut packed);
        assert!(unpack(&packed) == parts.concat());
        assert!(
            stored.iter().all(|part| part.len() >= BLOCK || memchr::memmem::find(&packed, part).is_some())
        );
    }
}

/// Compresses with each of the parts read ahead, and decompresses. `packed` is the last result.
fn check_ahead(gzip: &mut QuickGzip, parts: &[&[u8]], packed: &mut Vec<u8>) {
    let mut before = 0;
    for part in parts {
        let mut read = Vec::new();
        gzip.read_ahead(part, |piece| read.extend_from_slice(piece));
        assert!(read == *part);
        packed.clear();
        gzip.pack(parts, Some(before), packed);
        assert!(unpack(packed) == parts.concat());
        before += part.len();
    }
}

fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// Incompressible bytes.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(next).collect()
}

const SIZES: [usize; 16] = [
    32_767, 32_768, 32_769, 32_776, 65_534, 65_535, 65_536, 65_537, 98_303, 98_304, 131_069, 131_070,
    131_071, 131_072, 1_048_575, 1_048_577,
];

#[test]
fn small_inputs() {
    let mut gzip = QuickGzip::new();
    let noise = noise(300);
    let text = b"the boats in the harbour and the boats at sea; ".repeat(7);
    for length in 0..=300 {
        check(&mut gzip, &[&noise[..length]]);
        check(&mut gzip, &[&text[..length]]);
        check(&mut gzip, &[&vec![b'a'; length]]);
        check(&mut gzip, &[&text[..length / 2], b"", &noise[..length / 2]]);
    }
}

#[test]
fn sizes_around_the_window_and_the_blocks() {
    let mut gzip = QuickGzip::new();
    let noise = noise(1_048_577);
    let text: Vec<u8> =
        noise.chunks(7).flat_map(|word| [&b"another word, and "[..], &word[..2]].concat()).collect();
    for length in SIZES {
        check(&mut gzip, &[&noise[..length]]);
        let packed = check(&mut gzip, &[&text[..length]]);
        assert!(packed < length / 2, "{packed} of {length}");
        let packed = check(&mut gzip, &[&vec![0; length]]);
        assert!(packed < length / 100 + 100, "{packed} of {length}");
    }
}

#[test]
fn copies_from_the_maximum_distance() {
    let mut gzip = QuickGzip::new();
    let noise = noise(60);
    let mut packed_with = |distance: usize| {
        let zeros = vec![0; distance - noise.len()];
        check(&mut gzip, &[&noise, &zeros, &noise, &zeros, &noise])
    };
    let (near, far, too_far) = (packed_with(32_767), packed_with(32_768), packed_with(32_769));
    assert!(near + 30 < too_far && far + 80 < too_far, "{near}, {far}, {too_far}");
}

#[test]
fn words_with_equal_hashes() {
    // Two kinds of words alternate; equal hashes evict each other.
    let mut gzip = QuickGzip::new();
    let mut input = Vec::new();
    for number in 0u64..40_000 {
        input.extend_from_slice(&(number.wrapping_mul(0x9e37_79b9) << 20).to_le_bytes());
        input.extend_from_slice(&(number % 8192).to_le_bytes()[..3]);
    }
    check(&mut gzip, &[&input]);
}

#[test]
fn blocks_that_the_preset_codes_do_not_fit_get_their_own() {
    let mut gzip = QuickGzip::new();
    let noise = noise(40_000);
    // Letters of two scripts, digits, and punctuation that is rare in pages.
    for (first, letters) in [(0x430u32, 32), (0x4e00, 40), (0x30, 10), (0x5b, 4)] {
        let letter = |byte: &u8| char::from_u32(first + u32::from(*byte) % letters).unwrap();
        let text: String = noise.iter().map(letter).collect();
        let packed = check(&mut gzip, &[text.as_bytes()]);
        let least = entropy(text.as_bytes());
        assert!((packed as f64) < 1.15 * least + 200.0, "{first:x}: {packed} bytes, ideal is {least}");
    }
}

/// Size in bytes with an ideal code for single bytes.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0usize; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let bits = |count: &usize| *count as f64 * (bytes.len() as f64 / *count as f64).log2();
    counts.iter().filter(|count| **count > 0).map(bits).sum::<f64>() / 8.0
}

#[test]
fn pages_of_many_words() {
    let mut gzip = QuickGzip::new();
    let words = ["harbour", "the", "sailing", "of", "boats", "a", "<a href=\"/boat/", "</td><td>"];
    let page: String =
        noise(20_000).iter().map(|byte| format!("{} ", words[usize::from(*byte) % 8])).collect();
    let packed = check(&mut gzip, &[page.as_bytes()]);
    assert!(packed < page.len() / 4, "{packed} of {}", page.len());
}

/// Other programs must be able to decompress it. Runs if `GZIP_PROGRAM` names one that supports `-t`.
#[test]
fn other_programs_decompress_it() {
    let Some(program) = std::env::var_os("GZIP_PROGRAM") else {
        println!("SKIPPED: set GZIP_PROGRAM to gzip or another program that tests a file with -t");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.gz");
    let mut gzip = QuickGzip::new();
    let noise = noise(200_000);
    let mut packed = Vec::new();
    for length in (0..300).chain(SIZES.into_iter().filter(|size| *size < noise.len())) {
        gzip.pack(&[&noise[..length], &noise[..length / 3], &b"boats".repeat(length)], None, &mut packed);
    }
    std::fs::write(&path, packed).unwrap();
    assert!(std::process::Command::new(program).arg("-t").arg(&path).status().unwrap().success());
}

/// Noise, runs, words, and copies of earlier bytes.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..400).prop_map(|bytes| (bytes, 0, 0)),
        (any::<u8>(), 0usize..2000).prop_map(|(byte, length)| (vec![byte; length], 0, 0)),
        "([a-e]{1,6} ){0,60}".prop_map(|text| (text.into_bytes(), 0, 0)),
        (1usize..40_000, 1usize..3000).prop_map(|(back, length)| (Vec::new(), back, length)),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| {
        let mut input: Vec<u8> = Vec::new();
        for (bytes, back, length) in pieces {
            input.extend_from_slice(&bytes);
            if let Some(start) = input.len().checked_sub(back) {
                (start..start + length.min(input.len() * length))
                    .for_each(|at| input.extend(input.get(at).copied()));
            }
        }
        input
    })
}

proptest! {
    #[test]
    fn any_bytes_are_restored(inputs in proptest::collection::vec(input(), 1..4)) {
        let mut gzip = QuickGzip::new();
        for input in &inputs {
            check(&mut gzip, &[input]);
        }
        let all: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        check(&mut gzip, &all);
    }
}
