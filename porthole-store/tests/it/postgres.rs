//! A private PostgreSQL cluster for the tests, or the server of `PORTHOLE_TEST_PG`.
//!
//! The cluster runs in a temporary folder on a free port, as the user `postgres` if the tests run as root, and ends with
//! this process, however that ends. Where there is neither, the tests on PostgreSQL say so and test nothing.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use porthole_store::{DatabaseLocation, TableReader, TableStore};

/// Starts the cluster, waits for the end of its input, and removes everything.
const SCRIPT: &str = r#"
set -u
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --init-groups -- "$@"; else "$@"; fi; }
trap '' INT TERM HUP PIPE
[ "$(id -u)" = 0 ] && chown postgres "$FOLDER"
cd "$FOLDER"
as "$BIN/initdb" -D "$FOLDER/data" -U admin -A trust -E UTF8 --locale=C --no-sync >"$FOLDER/initdb.log" 2>&1 || exit 1
TLS=
if [ -n "${CERTIFICATE:-}" ]; then
    as openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
        -addext "subjectAltName=IP:127.0.0.1" -keyout "$FOLDER/key.pem" -out "$FOLDER/certificate.pem" >/dev/null 2>&1 || exit 1
    chmod 755 "$FOLDER"
    TLS="-c ssl=on -c ssl_cert_file=$FOLDER/certificate.pem -c ssl_key_file=$FOLDER/key.pem"
fi
as "$BIN/postgres" -D "$FOLDER/data" -p "$PORT" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c fsync=off -c max_connections=200 -c autovacuum_naptime=1h $TLS >/dev/null 2>&1 &
cat >/dev/null
kill -QUIT "$(head -n 1 "$FOLDER/data/postmaster.pid")"
wait
rm -rf "$FOLDER"
"#;

/// A server on which databases can be created.
struct Server {
    psql: PathBuf,
    admin: String,
    /// URL up to the name of the database.
    base: String,
    is_private: bool,
    /// Its input is closed when this process ends.
    _cluster: Option<Child>,
}

fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    let started = SERVER.get_or_init(|| {
        let started = start();
        if let Err(reason) = &started {
            // Not by a macro, whose output the test harness keeps to itself.
            let _ = writeln!(std::io::stderr(), "**** TESTS ON POSTGRESQL SKIPPED: {reason} ****");
        }
        started
    });
    started.as_ref().ok()
}

fn start() -> Result<Server, String> {
    if let Ok(url) = std::env::var("PORTHOLE_TEST_PG") {
        let (base, _) = url.rsplit_once('/').ok_or("PORTHOLE_TEST_PG must be the URL of a database")?;
        let psql = programs().map_or_else(|| "psql".into(), |folder| folder.join("psql"));
        return Ok(Server { psql, base: base.to_owned(), admin: url, is_private: false, _cluster: None });
    }
    start_private("").map(|(server, _)| server)
}

/// A private cluster with encrypted connections, and the file with its certificate, which signs itself.
pub(crate) struct EncryptedServer {
    server: Server,
    pub(crate) certificate: PathBuf,
}

impl EncryptedServer {
    /// `None` if there is no PostgreSQL here.
    pub(crate) fn start() -> Option<EncryptedServer> {
        match start_private("yes") {
            Ok((server, folder)) => {
                Some(EncryptedServer { server, certificate: folder.join("certificate.pem") })
            }
            Err(reason) => {
                let _ = writeln!(std::io::stderr(), "**** TEST OF TLS SKIPPED: {reason} ****");
                None
            }
        }
    }

    /// The URL of a database in which the program may create tables.
    pub(crate) fn url(&self, host: &str, parameters: &str) -> String {
        let base = self.server.admin.replace("127.0.0.1", host);
        format!("{base}?{parameters}")
    }
}

/// Starts a cluster, with a certificate if one is wanted. Returns its folder as well.
fn start_private(certificate: &str) -> Result<(Server, PathBuf), String> {
    let programs = programs().ok_or("no PostgreSQL (apt-get install postgresql), and no PORTHOLE_TEST_PG")?;
    let folder =
        tempfile::Builder::new().prefix("porthole-pg").tempdir().map_err(|error| error.to_string())?;
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let port = port.map_err(|error| error.to_string())?.port();
    let folder = folder.keep();
    let mut cluster = Command::new("sh")
        .args(["-c", SCRIPT])
        .env("FOLDER", &folder)
        .env("CERTIFICATE", certificate)
        .env("BIN", &programs)
        .env("PORT", port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let began = Instant::now();
    let psql = programs.join("psql");
    let admin = format!("postgres://admin@127.0.0.1:{port}/postgres");
    while TcpStream::connect(("127.0.0.1", port)).is_err()
        || ask(&psql, &admin, "create role porthole login").is_err()
    {
        if cluster.try_wait().is_ok_and(|ended| ended.is_some()) {
            return Err(
                "the private cluster did not start (the tests need a user other than root, or setpriv)"
                    .into(),
            );
        }
        if began.elapsed() > Duration::from_secs(120) {
            return Err("the private cluster did not answer within two minutes".into());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let base = format!("postgres://porthole@127.0.0.1:{port}");
    Ok((Server { psql, admin, base, is_private: true, _cluster: Some(cluster) }, folder))
}

/// The folder with PostgreSQL's programs: that of the newest version of Debian's packages, or one in the path.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = debian.collect();
    folders.sort();
    folders.reverse();
    folders.extend(std::env::split_paths(&path));
    folders.into_iter().find(|folder| folder.join("initdb").exists())
}

fn ask(psql: &Path, url: &str, sql: &str) -> Result<String, String> {
    let asked = Command::new(psql).args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-c", sql, url]).output();
    let asked = asked.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if asked.status.success() { Ok(text(&asked.stdout)) } else { Err(text(&asked.stderr)) }
}

/// A database of its own for a test.
pub(crate) struct PgPlace {
    server: &'static Server,
    name: String,
}

impl PgPlace {
    /// `None` if there is no PostgreSQL.
    pub(crate) fn new() -> Option<PgPlace> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = server()?;
        let name = format!("porthole_test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let owner = if server.is_private { " owner porthole" } else { "" };
        ask(&server.psql, &server.admin, &format!("create database {name}{owner}")).unwrap();
        Some(PgPlace { server, name })
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/{}", self.server.base, self.name)
    }

    pub(crate) fn location(&self) -> DatabaseLocation {
        DatabaseLocation::Postgres(self.url())
    }

    pub(crate) fn open(&self) -> TableStore {
        TableStore::open_at(&self.location()).unwrap()
    }

    pub(crate) fn reader(&self) -> TableReader {
        TableReader::open_at(&self.location()).unwrap()
    }

    /// Runs SQL in the database as the administrator; `None` if the server is not ours.
    pub(crate) fn admin_sql(&self, sql: &str) -> Option<String> {
        let base = self.server.admin.strip_suffix("postgres")?;
        let url = format!("{base}{}", self.name);
        self.server.is_private.then(|| ask(&self.server.psql, &url, sql).unwrap())
    }

    /// The URL of the database for another role.
    pub(crate) fn url_as(&self, role: &str) -> String {
        self.url().replace("porthole@", &format!("{role}@"))
    }

    /// The error of SQL at a URL of this server.
    pub(crate) fn refused_sql(&self, url: &str, sql: &str) -> String {
        ask(&self.server.psql, url, sql).unwrap_err()
    }

    /// Ends all connections to the database, and refuses new ones.
    #[allow(dead_code, reason = "for the tests of the program")]
    pub(crate) fn cut(&self) {
        let ask = |sql: &str| ask(&self.server.psql, &self.server.admin, sql).unwrap();
        ask(&format!("alter database {} with allow_connections false", self.name));
        ask(&format!(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{}'",
            self.name
        ));
    }

    /// Allows connections again.
    #[allow(dead_code, reason = "for the tests of the program")]
    pub(crate) fn restore(&self) {
        let sql = format!("alter database {} with allow_connections true", self.name);
        ask(&self.server.psql, &self.server.admin, &sql).unwrap();
    }

    /// Runs SQL as any other program could.
    pub(crate) fn sql(&self, sql: &str) -> String {
        ask(&self.server.psql, &self.url(), sql).unwrap()
    }
}

impl Drop for PgPlace {
    fn drop(&mut self) {
        if !self.server.is_private {
            let _ = ask(
                &self.server.psql,
                &self.server.admin,
                &format!("drop database {} with (force)", self.name),
            );
        }
    }
}
