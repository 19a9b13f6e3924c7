//! Decides by the content type which bodies are read.

use porthole_types::CanonicalUrl;

/// Whether a body with this content type may contain text. If in doubt, yes.
pub(super) fn may_be_text(url: &CanonicalUrl, content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let Some((family, name)) = kind.split_once('/') else { return true };
    // Sitemaps may be compressed, and robots.txt has any content type, also after redirects.
    if url.path().ends_with("/robots.txt") || (name.contains("gzip") && url.path().contains("sitemap")) {
        return true;
    }
    match family {
        "image" | "video" | "audio" | "font" | "model" => false,
        "text" => !matches!(name, "css" | "javascript" | "ecmascript" | "csv" | "calendar" | "vcard"),
        "application" => !NO_TEXT.contains(&name) && !name.starts_with("vnd.") && !name.starts_with("x-font"),
        _ => true,
    }
}

/// Types of archives, programs, data and documents that cannot be read.
const NO_TEXT: &[&str] = &[
    "zip",
    "gzip",
    "x-gzip",
    "zstd",
    "x-tar",
    "x-gtar",
    "x-compressed",
    "x-zip-compressed",
    "x-7z-compressed",
    "x-bzip",
    "x-bzip2",
    "x-xz",
    "x-rar",
    "x-rar-compressed",
    "java-archive",
    "x-java-archive",
    "x-msdownload",
    "x-msdos-program",
    "x-executable",
    "x-debian-package",
    "x-rpm",
    "x-redhat-package-manager",
    "x-apple-diskimage",
    "x-iso9660-image",
    "wasm",
    "x-shockwave-flash",
    "javascript",
    "x-javascript",
    "ecmascript",
    "json",
    "ld+json",
    "font-woff",
    "font-woff2",
    "font-sfnt",
    "postscript",
    "msword",
    "epub+zip",
    "x-mobipocket-ebook",
    "ogg",
    "x-bittorrent",
    "x-sqlite3",
    "x-pkcs12",
    "pkcs7-mime",
    "x-dvi",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_without_text_are_not_read() {
        let check = |path: &str, content_type: &str, read: bool| {
            let url = CanonicalUrl::parse(&format!("http://a.test{path}")).unwrap();
            assert_eq!(may_be_text(&url, content_type), read, "{path} {content_type}");
        };
        for content_type in [
            "text/html",
            "TEXT/HTML; charset=x",
            "application/xhtml+xml",
            "text/plain",
            "application/pdf",
            "",
        ] {
            check("/", content_type, true);
        }
        for content_type in ["application/octet-stream", "application/rss+xml", "unknown/unknown", "html"] {
            check("/", content_type, true);
        }
        for content_type in
            ["image/png", "Video/MP4", "audio/ogg", "font/woff2", "text/css", "application/zip; x=y"]
        {
            check("/", content_type, false);
        }
        check("/a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", false);
        check("/robots.txt", "image/png", true);
        check("/elsewhere/robots.txt", "application/zip", true);
        check("/sitemap1.xml.gz", "application/x-gzip", true);
        check("/linux.tar.gz", "application/x-gzip", false);
    }
}
