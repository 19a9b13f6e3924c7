//! The ciphers of encrypted files. Any data is decrypted, with keys of any length: what is damaged gives other bytes.

use aes::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use aes::{Aes128, Aes256};

/// Cipher of strings or streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cipher {
    /// Not encrypted.
    Identity,
    Rc4,
    Aes128,
    Aes256,
}

/// Size of an AES block, and of the initialization vector in front of the data.
const BLOCK: usize = 16;

impl Cipher {
    /// Decrypts a string or a stream.
    pub(super) fn decrypt(self, key: &[u8], data: &[u8]) -> Vec<u8> {
        match self {
            Cipher::Identity => data.to_vec(),
            Cipher::Rc4 => Rc4::new(key).apply(data),
            Cipher::Aes128 | Cipher::Aes256 => {
                let Some((vector, data)) = data.split_at_checked(BLOCK) else { return Vec::new() };
                let mut data = if self == Cipher::Aes128 {
                    decrypt_blocks::<cbc::Decryptor<Aes128>>(key, vector, data)
                } else {
                    decrypt_blocks::<cbc::Decryptor<Aes256>>(key, vector, data)
                };
                // A truncated stream has no padding.
                if let Some(&padding @ 1..=16) = data.last() {
                    data.truncate(data.len() - usize::from(padding));
                }
                data
            }
        }
    }
}

/// AES-256 in CBC mode without padding or initialization vector, as keys are stored.
pub(super) fn decrypt_key(key: &[u8], data: &[u8]) -> Vec<u8> {
    decrypt_blocks::<cbc::Decryptor<Aes256>>(key, &[0; BLOCK], data)
}

/// AES-128 in CBC mode; an incomplete block at the end is left as it is.
pub(super) fn encrypt_in_place(key: &[u8], vector: &[u8], data: &mut [u8]) {
    if let Ok(mut encryptor) = cbc::Encryptor::<Aes128>::new_from_slices(key, vector) {
        encryptor.encrypt_blocks(Array::slice_as_chunks_mut(data).0);
    }
}

/// The whole blocks of `data`; nothing if the key has a wrong length.
fn decrypt_blocks<D: BlockModeDecrypt + KeyIvInit>(key: &[u8], vector: &[u8], data: &[u8]) -> Vec<u8> {
    let Ok(mut decryptor) = D::new_from_slices(key, vector) else { return Vec::new() };
    let mut data = data[..data.len() - data.len() % BLOCK].to_vec();
    decryptor.decrypt_blocks(Array::slice_as_chunks_mut(&mut data).0);
    data
}

/// The stream cipher RC4, which is too weak for anything but reading old files.
pub(super) struct Rc4 {
    state: [u8; 256],
    first: u8,
    second: u8,
}

impl Rc4 {
    pub(super) fn new(key: &[u8]) -> Self {
        let mut state: [u8; 256] = std::array::from_fn(|index| index as u8);
        let mut other = 0u8;
        for (index, key_byte) in (0..256).zip(key.iter().cycle()) {
            other = other.wrapping_add(state[index]).wrapping_add(*key_byte);
            state.swap(index, usize::from(other));
        }
        Rc4 { state, first: 0, second: 0 }
    }

    /// Encrypts or decrypts.
    pub(super) fn apply(&mut self, data: &[u8]) -> Vec<u8> {
        data.iter().map(|byte| byte ^ self.next()).collect()
    }

    fn next(&mut self) -> u8 {
        self.first = self.first.wrapping_add(1);
        let (first, one) = (usize::from(self.first), self.state[usize::from(self.first)]);
        self.second = self.second.wrapping_add(one);
        self.state.swap(first, usize::from(self.second));
        self.state[usize::from(one.wrapping_add(self.state[first]))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::object::hex_bytes;

    #[test]
    fn rc4_of_the_known_vectors() {
        for (key, plain, encrypted) in [
            ("Key", "Plaintext", "BBF316E8D940AF0AD3"),
            ("Wiki", "pedia", "1021BF0420"),
            ("Secret", "Attack at dawn", "45A01F645FC35B383552544B9BF5"),
        ] {
            let encrypted = hex_bytes(encrypted.as_bytes());
            assert_eq!(Cipher::Rc4.decrypt(key.as_bytes(), &encrypted), plain.as_bytes(), "for {key}");
        }
    }

    /// The first two blocks of F.2.1 and F.2.5 in NIST SP 800-38A.
    #[test]
    fn aes_of_the_known_vectors() {
        let plain = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51";
        let vector = "000102030405060708090a0b0c0d0e0f";
        for (cipher, key, encrypted) in [
            (
                Cipher::Aes128,
                "2b7e151628aed2a6abf7158809cf4f3c",
                "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
            ),
            (
                Cipher::Aes256,
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d",
            ),
        ] {
            let data = hex_bytes(format!("{vector}{encrypted}").as_bytes());
            assert_eq!(cipher.decrypt(&hex_bytes(key.as_bytes()), &data), hex_bytes(plain.as_bytes()));
        }
    }

    #[test]
    fn bad_data_and_keys_are_not_fatal() {
        for cipher in [Cipher::Identity, Cipher::Rc4, Cipher::Aes128, Cipher::Aes256] {
            for key in [0, 1, 5, 16, 32, 99] {
                for data in [0, 1, 15, 16, 17, 32, 100] {
                    assert!(cipher.decrypt(&vec![7; key], &vec![9; data]).len() <= data);
                }
            }
        }
    }
}
