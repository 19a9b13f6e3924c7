//! A minimal tar reader: plain files with names of at most 100 bytes. Archives with extensions are rejected.

use std::io::{self, Read};

const BLOCK: usize = 512;

/// Maximum file size: a file has to fit into memory several times.
const LARGEST: u64 = 1 << 30;

/// Iterator over the plain files of an archive: name and bytes.
pub(super) struct TarReader<R> {
    input: R,
    over: bool,
}

impl<R: Read> TarReader<R> {
    pub(super) fn new(input: R) -> Self {
        TarReader { input, over: false }
    }

    /// The next plain file; `None` at the end.
    fn file(&mut self) -> io::Result<Option<(String, Vec<u8>)>> {
        loop {
            let mut head = [0; BLOCK];
            self.input.read_exact(&mut head)?;
            if head.iter().all(|&byte| byte == 0) {
                return Ok(None);
            }
            let head = TarHeader::parse(&head)?;
            let bytes = self.content(head.size)?;
            match head.kind {
                b'0' | 0 => return Ok(Some((head.name, bytes))),
                b'5' => {}
                kind => return Err(wrong(&format!("{}: entry of type {kind:#04x}", head.name))),
            }
        }
    }

    fn content(&mut self, size: u64) -> io::Result<Vec<u8>> {
        let padded = size.next_multiple_of(BLOCK as u64);
        let mut bytes = Vec::new();
        if (&mut self.input).take(padded).read_to_end(&mut bytes)? as u64 != padded {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.truncate(size as usize);
        Ok(bytes)
    }
}

impl<R: Read> Iterator for TarReader<R> {
    type Item = io::Result<(String, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let file = self.file().transpose();
        self.over = !matches!(file, Some(Ok(_)));
        file
    }
}

struct TarHeader {
    name: String,
    size: u64,
    kind: u8,
}

impl TarHeader {
    fn parse(block: &[u8; BLOCK]) -> io::Result<Self> {
        // The checksum is computed with its own field blank.
        let blank = 8 * u64::from(b' ');
        let all = block.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        let own = block[148..156].iter().map(|&byte| u64::from(byte)).sum::<u64>();
        if octal(&block[148..156]) != Some(all - own + blank) {
            return Err(wrong("the checksum of an entry's head is wrong"));
        }
        let name = String::from_utf8_lossy(until_nul(&block[..100])).into_owned();
        match octal(&block[124..136]) {
            Some(size) if size <= LARGEST => Ok(TarHeader { name, size, kind: block[156] }),
            _ => Err(wrong(&format!("{name}: its size makes no sense, or is too large"))),
        }
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(until_nul(field)).ok()?;
    u64::from_str_radix(digits.trim(), 8).ok()
}

fn until_nul(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        block[148..156].fill(b' ');
        block[156] = kind;
        let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        block.extend_from_slice(content);
        block.resize(block.len().next_multiple_of(BLOCK), 0);
        block
    }

    fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = entries.concat();
        bytes.extend([0; 2 * BLOCK]);
        bytes
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
        TarReader::new(bytes).collect()
    }

    #[test]
    fn plain_files_are_returned_in_order() {
        let long = vec![b'x'; 1000];
        let entries = [
            entry("a/", b'5', b""),
            entry("a/1", b'0', b"one"),
            entry("a/none", b'0', b""),
            entry("a/long", b'0', &long),
        ];
        let expected = [("a/1", b"one".to_vec()), ("a/none", Vec::new()), ("a/long", long)]
            .map(|(n, b)| (n.to_owned(), b));
        assert_eq!(read(&archive(&entries)).unwrap(), expected);
    }

    #[test]
    fn damaged_and_unsupported_archives_are_errors() {
        let good = archive(&[entry("a", b'0', b"one")]);
        for cut in 0..good.len() - BLOCK {
            if cut != 2 * BLOCK {
                assert!(read(&good[..cut]).is_err(), "cut at {cut}");
            }
        }
        let mut flipped = good.clone();
        flipped[3] ^= 1;
        assert!(read(&flipped).unwrap_err().to_string().contains("checksum"));
        assert!(read(&archive(&[entry("long", b'L', b"name")])).is_err());
    }
}
