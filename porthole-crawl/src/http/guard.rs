//! Decides which addresses may be connected to. Pages can link anywhere and names can resolve to anything: without
//! this, a crawl could be used to reach the network that it runs in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::HttpSettingsError;

/// Ranges of addresses that may be fetched although they are not public. Parsed from a list such as
/// `loopback,10.1.0.0/16`. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedAddresses(Vec<Range>);

impl AllowedAddresses {
    /// This machine only: 127.0.0.0/8 and ::1.
    pub fn loopback() -> Self {
        AllowedAddresses(LOOPBACK.to_vec())
    }

    /// This machine and the private networks around it: loopback, RFC 1918 and RFC 4193.
    pub fn own_network() -> Self {
        let private = [
            Range::v4(Ipv4Addr::new(10, 0, 0, 0), 8),
            Range::v4(Ipv4Addr::new(172, 16, 0, 0), 12),
            Range::v4(Ipv4Addr::new(192, 168, 0, 0), 16),
            Range { base: Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0).to_bits(), bits: 7 },
        ];
        AllowedAddresses([&LOOPBACK[..], &private].concat())
    }

    /// These ranges and others.
    #[must_use]
    pub fn and(mut self, more: AllowedAddresses) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Whether an address is in one of the ranges, in any notation.
    pub fn contains(&self, address: IpAddr) -> bool {
        let embedded = embedded_v4(address).map(IpAddr::V4);
        self.0.iter().any(|range| range.contains(address) || embedded.is_some_and(|v4| range.contains(v4)))
    }
}

impl FromStr for AllowedAddresses {
    type Err = HttpSettingsError;

    fn from_str(text: &str) -> Result<Self, HttpSettingsError> {
        let mut ranges = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match part {
                "loopback" => ranges.extend(LOOPBACK),
                _ => ranges.push(Range::parse(part).ok_or_else(|| HttpSettingsError::Range(part.into()))?),
            }
        }
        Ok(AllowedAddresses(ranges))
    }
}

/// Checks addresses against the allowed ranges, and requires a contact for public ones.
pub(super) struct Guard {
    pub(super) allow: AllowedAddresses,
    /// Without a contact, public addresses are refused.
    pub(super) has_contact: bool,
}

impl Guard {
    /// Returns the reason if an address must not be connected to.
    pub(super) fn check(&self, address: IpAddr) -> Result<(), String> {
        if self.allow.contains(address) {
            return Ok(());
        }
        if let Some(what) = special(address) {
            let setting = if LOOPBACK.iter().any(|range| range.contains(address)) {
                "loopback = true"
            } else {
                "allow"
            };
            return Err(format!(
                "{address} is {what}, which is not fetched; `{setting}` under [fetch] in porthole.toml allows it"
            ));
        }
        if !self.has_contact {
            return Err(
                "the open web is not crawled without a contact; set `contact` under [fetch] in porthole.toml"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    /// As IPv6; IPv4 addresses are mapped.
    base: u128,
    /// Number of leading bits that count.
    bits: u32,
}

const LOOPBACK: [Range; 2] =
    [Range::v4(Ipv4Addr::new(127, 0, 0, 0), 8), Range { base: Ipv6Addr::LOCALHOST.to_bits(), bits: 128 }];

impl Range {
    const fn v4(base: Ipv4Addr, bits: u32) -> Self {
        Range { base: base.to_ipv6_mapped().to_bits(), bits: bits + 96 }
    }

    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let (longest, before) = if address.is_ipv4() { (32, 96) } else { (128, 0) };
        let bits = bits.unwrap_or(longest);
        (bits <= longest).then(|| Range { base: number(address), bits: bits + before })
    }

    fn contains(&self, address: IpAddr) -> bool {
        let differing = number(address) ^ self.base;
        differing.leading_zeros() >= self.bits
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// Describes an address that is not public.
fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => special_v4(v4),
        IpAddr::V6(v6) => special_v6(v6),
    }
}

/// From the IANA registry of special addresses, plus those of cloud providers.
fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [169, 254, 169, 254] | [168, 63, 129, 16] | [100, 100, 100, 200] | [192, 0, 0, 192] => {
            Some("a cloud's metadata address")
        }
        [0, ..] => Some("an unspecified address"),
        [127, ..] => Some("a loopback address"),
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => Some("a private address"),
        [169, 254, ..] => Some("a link-local address"),
        [100, 64..=127, ..] => Some("an address behind a carrier's NAT"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Some("a documentation address"),
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [240..=255, ..] => {
            Some("a reserved address")
        }
        [224..=239, ..] => Some("a multicast address"),
        _ => None,
    }
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    if address.is_loopback() {
        return Some("a loopback address");
    }
    if address.is_unspecified() {
        return Some("an unspecified address");
    }
    if let Some(v4) = embedded_v4(IpAddr::V6(address)) {
        return special_v4(v4);
    }
    match address.segments() {
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] => Some("a cloud's metadata address"),
        [0xfc00..=0xfdff, ..] => Some("a private address"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xfec0..=0xfeff, ..] => Some("a site-local address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("a documentation address"),
        // Teredo contains an IPv4 address chosen by the server. The others are protocols, not hosts.
        [0x2001, 0..=0x01ff, ..] => Some("a reserved address"),
        // 0:5efe marks an IPv4 address behind any prefix (ISATAP).
        [_, _, _, _, 0 | 0x0200, 0x5efe, ..] => Some("a tunnel's address"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved address"),
    }
}

/// The IPv4 address that an IPv6 address leads to: mapped, compatible, NAT64 and 6to4.
fn embedded_v4(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(v6) = address else { return None };
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x0064, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(v4(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(allow: &str, address: &str) -> Result<(), String> {
        let guard = Guard { allow: allow.parse().unwrap(), has_contact: true };
        guard.check(address.parse().unwrap())
    }

    #[test]
    fn special_addresses_are_refused_in_every_notation() {
        let refused = [
            "0.0.0.0 0.1.2.3 127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1",
            "169.254.0.1 169.254.169.254 100.64.0.1 100.127.255.255 100.100.100.200 168.63.129.16",
            "192.0.0.192 192.0.2.1 198.51.100.7 203.0.113.9 198.18.0.1 198.19.255.255 192.88.99.1",
            "224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255",
            ":: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:10.0.0.1 ::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2002:a00:1::1 2002:c0a8:101::5",
            "2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 3fff::1 100::1 5f00::1",
            "fc00::1 fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1 2a00:1::5efe:a00:1 4000::1",
        ];
        for address in refused.iter().flat_map(|line| line.split(' ')) {
            assert!(verdict("", address).is_err(), "{address}");
        }
    }

    #[test]
    fn public_addresses_are_allowed() {
        let open = "1.1.1.1 8.8.8.8 93.184.215.14 172.15.0.1 172.32.0.1 100.63.0.1 100.128.0.1 192.0.1.1 223.255.0.1 \
                    2606:4700::1111 2001:4860:4860::8888 2a00:1450::1 ::ffff:1.1.1.1 64:ff9b::8.8.8.8 2002:808:808::1";
        for address in open.split_whitespace() {
            assert_eq!(verdict("", address), Ok(()), "{address}");
        }
    }

    #[test]
    fn only_allowed_ranges_are_added() {
        for (allow, address, allowed) in [
            ("loopback", "127.0.0.1", true),
            ("loopback", "127.8.0.1", true),
            ("loopback", "::1", true),
            ("loopback", "::ffff:127.0.0.1", true),
            ("loopback", "10.0.0.1", false),
            ("loopback", "0.0.0.0", false),
            ("10.1.0.0/16, 192.168.0.7", "10.1.255.1", true),
            ("10.1.0.0/16, 192.168.0.7", "10.2.0.1", false),
            ("10.1.0.0/16, 192.168.0.7", "192.168.0.7", true),
            ("10.1.0.0/16, 192.168.0.7", "192.168.0.8", false),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fc12::1", false),
            ("0.0.0.0/0", "10.0.0.1", true),
            ("0.0.0.0/0", "fd00::1", false),
            ("::/0", "10.0.0.1", true),
        ] {
            assert_eq!(verdict(allow, address).is_ok(), allowed, "{address} with {allow}");
        }
        for nonsense in ["local", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/x"] {
            assert_eq!(
                nonsense.parse::<AllowedAddresses>(),
                Err(HttpSettingsError::Range(nonsense.into())),
                "{nonsense}"
            );
        }
    }

    #[test]
    fn the_own_network_has_no_addresses_of_clouds_or_links() {
        let own = AllowedAddresses::own_network().and("100.64.0.0/10".parse().unwrap());
        for (address, is_own) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("10.9.8.7", true),
            ("172.31.0.1", true),
            ("172.32.0.1", false),
            ("192.168.1.1", true),
            ("fd12::1", true),
            ("fe80::1", false),
            ("169.254.169.254", false),
            ("8.8.8.8", false),
            ("100.64.0.1", true),
        ] {
            assert_eq!(own.contains(address.parse().unwrap()), is_own, "{address}");
        }
    }

    #[test]
    fn without_a_contact_only_allowed_ranges_are_fetched() {
        let guard = Guard { allow: AllowedAddresses::loopback(), has_contact: false };
        assert_eq!(guard.check(IpAddr::from([127, 0, 0, 1])), Ok(()));
        assert!(guard.check(IpAddr::from([1, 1, 1, 1])).unwrap_err().contains("contact"));
    }
}
