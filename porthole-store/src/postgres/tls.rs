//! Encrypted connections: `sslmode` and `sslrootcert` of a URL, as libpq has them.
//!
//! | `sslmode` | encrypted | server |
//! |---|---|---|
//! | `disable` | no | not checked |
//! | `prefer` (default) | if the server offers it | not checked |
//! | `require` | yes | not checked |
//! | `verify-ca` | yes | certificate of an authority that is trusted |
//! | `verify-full` | yes | the same, with the name of the host |
//!
//! Trusted are the authorities in the file `sslrootcert`, or those that browsers trust. A certificate that is in the file
//! itself is trusted, too, such as one that signs itself.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::{self, CryptoProvider};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};

/// Takes the settings of TLS out of a URL: returns the URL for `tokio-postgres`, which knows no other than `require`,
/// and how to connect.
pub(super) fn of_url(url: &str) -> Result<(String, RustlsConnect), String> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut mode, mut file, mut others) = ("prefer", None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = value,
            Some(("sslrootcert", value)) => file = Some(percent_decode_str(value).decode_utf8_lossy()),
            _ => others.push(pair.to_owned()),
        }
    }
    let (simple, trust) = match mode {
        "disable" | "prefer" | "require" => (mode, ServerTrust::Any),
        "verify-ca" => ("require", ServerTrust::Authority),
        "verify-full" => ("require", ServerTrust::Name),
        _ => {
            return Err(format!(
                "sslmode={mode} is not known; choose disable, prefer, require, verify-ca or verify-full"
            ));
        }
    };
    others.push(format!("sslmode={simple}"));
    let connect = RustlsConnect::new(trust, file.as_deref().map(Path::new))?;
    Ok((format!("{base}?{}", others.join("&")), connect))
}

/// What a certificate must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerTrust {
    Any,
    Authority,
    Name,
}

/// Makes encrypted connections.
#[derive(Clone)]
pub(super) struct RustlsConnect(Arc<ClientConfig>);

impl RustlsConnect {
    fn new(trust: ServerTrust, file: Option<&Path>) -> Result<Self, String> {
        let provider = Arc::new(crypto::ring::default_provider());
        let (mut authorities, mut pinned) = (RootCertStore::empty(), Vec::new());
        match file {
            Some(file) if trust != ServerTrust::Any => {
                let fail = |error: &dyn std::fmt::Display| format!("sslrootcert {}: {error}", file.display());
                for found in CertificateDer::pem_file_iter(file).map_err(|error| fail(&error))? {
                    let certificate = found.map_err(|error| fail(&error))?;
                    pinned.push(certificate.clone());
                    authorities.add(certificate).map_err(|error| fail(&error))?;
                }
                if pinned.is_empty() {
                    return Err(fail(&"no certificate is in it"));
                }
            }
            _ => authorities.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(authorities), provider.clone())
            .build()
            .map_err(|error| error.to_string())?;
        let verifier = ServerCheck { provider: provider.clone(), trust, chain, pinned };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(RustlsConnect(Arc::new(config)))
    }
}

/// Checks the certificate of a server.
#[derive(Debug)]
struct ServerCheck {
    provider: Arc<CryptoProvider>,
    trust: ServerTrust,
    chain: Arc<WebPkiServerVerifier>,
    /// Certificates that are trusted themselves.
    pinned: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for ServerCheck {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if self.trust == ServerTrust::Any {
            return Ok(ServerCertVerified::assertion());
        }
        if self.pinned.iter().any(|pinned| pinned.as_ref() == certificate.as_ref()) {
            if self.trust == ServerTrust::Name {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        // The name is checked after everything else.
        match self.chain.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.trust == ServerTrust::Authority => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl MakeTlsConnect<Socket> for RustlsConnect {
    type Stream = EncryptedSocket;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Handshake { connector: TlsConnector::from(self.0.clone()), name })
    }
}

/// A handshake with a server that has this name.
pub(super) struct Handshake {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = EncryptedSocket;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedSocket>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move { self.connector.connect(self.name, socket).await.map(EncryptedSocket) })
    }
}

/// An encrypted connection.
pub(super) struct EncryptedSocket(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for EncryptedSocket {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for EncryptedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for EncryptedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_tls_are_taken_out_of_a_url() {
        let url = |url: &str| of_url(url).map(|(url, _)| url);
        for (given, expected) in [
            ("postgres://h/d", "postgres://h/d?sslmode=prefer"),
            ("postgres://h/d?sslmode=disable", "postgres://h/d?sslmode=disable"),
            ("postgres://h/d?a=b&sslmode=verify-full", "postgres://h/d?a=b&sslmode=require"),
        ] {
            assert_eq!(url(given).as_deref(), Ok(expected), "{given}");
        }
        assert!(url("postgres://h/d?sslmode=on").unwrap_err().contains("sslmode=on is not known"));
        let missing = url("postgres://h/d?sslmode=verify-ca&sslrootcert=/no/such%20file").unwrap_err();
        assert!(missing.contains("sslrootcert /no/such file"), "{missing}");
    }
}
