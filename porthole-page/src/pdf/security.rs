//! Files that are encrypted, but open without a password: the standard security handler of PDF 1.1 to 2.0 with an empty
//! user password. Such files forbid printing or copying in a viewer; their text is for everyone to read.

use std::borrow::Cow;

use md5::Md5;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use super::cipher::{self, Cipher, Rc4};
use super::file::{Budget, File};
use super::object::{Dictionary, PdfObject};
use crate::steps;

/// Number and generation of an object; its key depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectId {
    pub(super) number: u32,
    pub(super) generation: u32,
}

/// The key of a file, and what it decrypts.
pub(super) struct Decryption {
    key: Vec<u8>,
    strings: Cipher,
    streams: Cipher,
    /// Crypt filters by name, for streams that name theirs.
    filters: Vec<(Vec<u8>, Cipher)>,
    has_plain_metadata: bool,
}

/// A password of no letters, as it is padded to 32 bytes (ISO 32000-1, 7.6.3.3).
const PADDING: [u8; 32] = [
    0x28, 0xBF, 0x4E, 0x5E, 0x4E, 0x75, 0x8A, 0x41, 0x64, 0x00, 0x4E, 0x56, 0xFF, 0xFA, 0x01, 0x08, 0x2E,
    0x2E, 0x00, 0xB6, 0xD0, 0x68, 0x3E, 0x80, 0x2F, 0x0C, 0xA9, 0xFE, 0x64, 0x53, 0x69, 0x7A,
];

/// Cost of a key: that of setting up RC4, which is the most expensive part.
const KEY_COST: usize = 256;

/// Maximum number of crypt filters that are read.
const MOST_FILTERS: usize = 16;

impl Decryption {
    /// Reads the encryption dictionary of a file that is not decrypted yet. `None` if the file needs a password, or is
    /// encrypted in an unknown way.
    pub(super) fn open(file: &File<'_>, entry: &PdfObject<'_>, file_id: &[u8]) -> Option<Self> {
        let dictionary = file.dictionary(entry);
        let number = |name: &[u8]| file.resolve(dictionary.get(name)).number();
        if file.resolve(dictionary.get(b"Filter")).name() != Some(b"Standard") {
            return None;
        }
        let version = number(b"V")? as u32;
        let filters = if version >= 4 { crypt_filters(file, &dictionary) } else { Vec::new() };
        let cipher = |name: &[u8]| match version {
            1 | 2 => Some(Cipher::Rc4),
            4 | 5 => cipher_named(&filters, file.resolve(dictionary.get(name)).name()),
            _ => None,
        };
        let (strings, streams) = (cipher(b"StrF")?, cipher(b"StmF")?);
        let has_plain_metadata =
            version >= 4 && file.resolve(dictionary.get(b"EncryptMetadata")) == PdfObject::Boolean(false);
        let text = |name: &[u8]| file.resolve(dictionary.get(name)).text().unwrap_or_default().to_vec();
        let password = PasswordEntries {
            revision: number(b"R")? as u32,
            owner: text(b"O"),
            user: text(b"U"),
            user_key: text(b"UE"),
            permissions: number(b"P").unwrap_or(0.0) as i64 as u32,
            file_id,
            has_plain_metadata,
        };
        let declared = if version == 1 { 5 } else { number(b"Length").unwrap_or(40.0) as usize / 8 };
        let key = password.file_key(declared)?;
        Some(Decryption { key, strings, streams, filters, has_plain_metadata })
    }

    /// Decrypts the strings of an object that is not in an object stream.
    pub(super) fn decrypt_strings(&self, object: &mut PdfObject<'_>, id: ObjectId, budget: &Budget) {
        if self.strings == Cipher::Identity {
            return;
        }
        let mut key = None;
        object.change_texts(&mut |text| {
            if text.is_empty() || budget.is_spent() {
                *text = Cow::Borrowed(b"");
                return;
            }
            budget.spend(KEY_COST + text.len());
            steps::add(KEY_COST + text.len());
            let key = key.get_or_insert_with(|| self.object_key(self.strings, id));
            *text = Cow::Owned(self.strings.decrypt(key, text));
        });
    }

    /// Decrypts a stream. `filter` is the crypt filter that it names, if it does.
    pub(super) fn decrypt_stream(
        &self,
        dictionary: &Dictionary<'_>,
        filter: Option<&[u8]>,
        data: &[u8],
        id: ObjectId,
    ) -> Vec<u8> {
        let cipher = match filter {
            Some(name) => cipher_named(&self.filters, Some(name)).unwrap_or(Cipher::Identity),
            None if self.has_plain_metadata && dictionary.is_type(b"Metadata") => Cipher::Identity,
            None => self.streams,
        };
        steps::add(KEY_COST + data.len());
        cipher.decrypt(&self.object_key(cipher, id), data)
    }

    /// Key of an object: the file's, mixed with the object's number unless the cipher is AES-256.
    fn object_key(&self, cipher: Cipher, id: ObjectId) -> Vec<u8> {
        if matches!(cipher, Cipher::Aes256 | Cipher::Identity) {
            return self.key.clone();
        }
        let mut hash = Md5::new();
        hash.update(&self.key);
        hash.update(&id.number.to_le_bytes()[..3]);
        hash.update(&id.generation.to_le_bytes()[..2]);
        if cipher == Cipher::Aes128 {
            hash.update(b"sAlT");
        }
        hash.finalize()[..(self.key.len() + 5).min(16)].to_vec()
    }
}

/// Crypt filters with a known cipher.
fn crypt_filters(file: &File<'_>, dictionary: &Dictionary<'_>) -> Vec<(Vec<u8>, Cipher)> {
    let filters = file.dictionary(dictionary.get(b"CF"));
    let known = filters.iter().take(MOST_FILTERS).filter_map(|(name, filter)| {
        let filter = file.dictionary(filter);
        let cipher = match file.resolve(filter.get(b"CFM")).name()? {
            b"V2" => Cipher::Rc4,
            b"AESV2" => Cipher::Aes128,
            b"AESV3" => Cipher::Aes256,
            _ => return None,
        };
        Some((name.to_vec(), cipher))
    });
    known.collect()
}

/// `None` if the filter is unknown.
fn cipher_named(filters: &[(Vec<u8>, Cipher)], name: Option<&[u8]>) -> Option<Cipher> {
    match name {
        None | Some(b"Identity") => Some(Cipher::Identity),
        Some(name) => filters.iter().find(|(known, _)| known == name).map(|(_, cipher)| *cipher),
    }
}

/// What the encryption dictionary has about passwords.
struct PasswordEntries<'f> {
    revision: u32,
    owner: Vec<u8>,
    user: Vec<u8>,
    user_key: Vec<u8>,
    permissions: u32,
    file_id: &'f [u8],
    has_plain_metadata: bool,
}

impl PasswordEntries<'_> {
    /// The file's key if the user password is empty. `declared` is its length in bytes in older files.
    fn file_key(&self, declared: usize) -> Option<Vec<u8>> {
        match self.revision {
            // The length is missing or wrong in some files, and a wrong key does not match the password's check.
            2..=4 => [declared, 16, 5].iter().find_map(|length| {
                let key = self.mixed_key((*length).clamp(5, 16));
                self.is_user_key(&key).then_some(key)
            }),
            5 | 6 => self.stored_key(),
            _ => None,
        }
    }

    /// ISO 32000-1, algorithm 2.
    fn mixed_key(&self, length: usize) -> Vec<u8> {
        let mut hash = Md5::new();
        hash.update(PADDING);
        hash.update(self.owner.get(..32).unwrap_or(&self.owner));
        hash.update(self.permissions.to_le_bytes());
        hash.update(self.file_id);
        if self.revision >= 4 && self.has_plain_metadata {
            hash.update([0xFF; 4]);
        }
        let mut key = hash.finalize();
        if self.revision >= 3 {
            for _ in 0..50 {
                key = Md5::digest(&key[..length]);
            }
        }
        key[..length].to_vec()
    }

    /// ISO 32000-1, algorithms 4 to 6: whether the `U` entry is what this key makes of an empty password.
    fn is_user_key(&self, key: &[u8]) -> bool {
        if self.revision == 2 {
            return Rc4::new(key).apply(&PADDING) == self.user;
        }
        let mut check = Md5::new().chain_update(PADDING).chain_update(self.file_id).finalize().to_vec();
        for round in 0..20 {
            let key: Vec<u8> = key.iter().map(|byte| byte ^ round).collect();
            check = Rc4::new(&key).apply(&check);
        }
        // The other 16 bytes are arbitrary.
        self.user.get(..16) == Some(&check)
    }

    /// ISO 32000-2, algorithm 2.A: the file's key is stored, encrypted by a hash of the password.
    fn stored_key(&self) -> Option<Vec<u8>> {
        let (check, salts) = self.user.get(..48)?.split_at(32);
        let (check_salt, key_salt) = salts.split_at(8);
        if self.hash(check_salt) != check {
            return None;
        }
        Some(cipher::decrypt_key(&self.hash(key_salt), self.user_key.get(..32)?))
    }

    /// ISO 32000-2, algorithm 2.B, of an empty password.
    fn hash(&self, salt: &[u8]) -> Vec<u8> {
        let mut key = Sha256::digest(salt).to_vec();
        if self.revision == 5 {
            return key;
        }
        // Ends after at most 288 rounds, because no byte is larger than 255.
        for round in 1u32.. {
            let mut data = key.repeat(64);
            cipher::encrypt_in_place(&key[..16], &key[16..32], &mut data);
            // 256 is 1 modulo 3, so that the sum of the bytes is as good as the number that they are.
            let remainder = data[..16].iter().map(|&byte| u32::from(byte)).sum::<u32>() % 3;
            key = match remainder {
                0 => Sha256::digest(&data).to_vec(),
                1 => Sha384::digest(&data).to_vec(),
                _ => Sha512::digest(&data).to_vec(),
            };
            let last = data.last().map_or(0, |&byte| u32::from(byte));
            if round >= 64 && last <= round - 32 {
                break;
            }
        }
        key.truncate(32);
        key
    }
}
