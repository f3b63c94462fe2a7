//! Tokens of a GitHub App, against a server on the loopback that checks the proof with the tool that made the key.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const GIVEN: &str = "sandboxes:
  with:
    env_passthrough: ['GITHUB_*']
    credentials: [{name: github, source: 'app:github', hosts: [github.com], via: environment}]
  without: {env_passthrough: ['GITHUB_APP_PRIVATE_KEY']}
sandbox: with
audit: required
max_parallelism: 4
";

/// Hands out `ghs_token_N` for a proof that is signed, in its time and of the app 42; says on a line what it was asked.
/// The first argument is the public key, the second how long a token holds.
const SERVER: &str = r#"
import base64, json, subprocess, sys, time, tempfile
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
count = 0
def checked(proof):
    head, claims, signature = proof.split('.')
    raw = lambda word: base64.urlsafe_b64decode(word + '=' * (-len(word) % 4))
    with tempfile.NamedTemporaryFile() as file:
        file.write(raw(signature)); file.flush()
        verify = ['openssl', 'dgst', '-sha256', '-verify', sys.argv[1], '-signature', file.name]
        if subprocess.run(verify, input=f'{head}.{claims}'.encode(), capture_output=True).returncode: return 'signature'
    claims = json.loads(raw(claims))
    if json.loads(raw(head))['alg'] != 'RS256' or claims['iss'] != '42': return 'claims'
    if not claims['iat'] <= time.time() < claims['exp'] <= claims['iat'] + 600: return 'time'
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def answer(self, status, value, headers={}):
        text = json.dumps(value).encode()
        self.send_response(status)
        for name, header in headers.items(): self.send_header(name, header)
        self.send_header('Content-Length', str(len(text))); self.end_headers(); self.wfile.write(text)
    def asked(self, method):
        global count
        print(method, self.path, flush=True)
        wrong = checked(self.headers['Authorization'].removeprefix('Bearer '))
        if wrong: return self.answer(401, {'message': f'wrong {wrong}\x1b[31m'})
        if self.path == '/repos/o/r/installation': return self.answer(200, {'id': 7})
        if self.path == '/repos/o/away/installation': return self.answer(302, {}, {'Location': 'http://127.0.0.1:1/'})
        if self.path == '/app/installations/9/access_tokens': return self.answer(201, {'token': 'a b\n', 'expires_at': 'x'})
        if (method, self.path) != ('POST', '/app/installations/7/access_tokens'): return self.answer(404, {'message': 'Not Found'})
        count += 1
        expires = datetime.now(timezone.utc) + timedelta(seconds=int(sys.argv[2]))
        self.answer(201, {'token': f'ghs_token_{count}', 'expires_at': expires.strftime('%Y-%m-%dT%H:%M:%SZ')})
    def do_GET(self): self.asked('GET')
    def do_POST(self): self.asked('POST')
server = HTTPServer(('127.0.0.1', 0), Handler)
if len(sys.argv) > 3:
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3] + '/server.pem', sys.argv[3] + '/server-key.pem')
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;

struct Server {
    child: Child,
    port: String,
    asked: std::sync::mpsc::Receiver<String>,
}

impl Server {
    /// A server that gives tokens for so many seconds, and the key of its app in `home/key.pem`.
    fn start(place: &Place, seconds: u32) -> Self {
        Self::with(place, &[&seconds.to_string()])
    }

    /// The same over TLS, with a certificate of the authority in `home/authority.pem`; `home/other.pem` is another one.
    fn over_tls(place: &Place) -> Self {
        place.certify();
        Self::with(place, &["3600", &place.home().display().to_string()])
    }

    fn with(place: &Place, arguments: &[&str]) -> Self {
        let openssl = |arguments: &[&str]| {
            let output = place.command("openssl").args(arguments).current_dir(place.home()).output().expect("openssl");
            assert!(output.status.success(), "{output:?}");
        };
        openssl(&["genrsa", "-out", "key.pem", "2048"]);
        openssl(&["rsa", "-in", "key.pem", "-pubout", "-out", "public.pem"]);
        let mut command = place.command("python3");
        command.args(["-c", SERVER]).arg(place.home().join("public.pem")).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("python3");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let port = lines.next().expect("a line").expect("the port");
        let (tell, asked) = std::sync::mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self { child, port, asked }
    }

    fn polder(&self, place: &Place, arguments: &[&str]) -> Command {
        let mut command = place.polder(arguments);
        command.env("GITHUB_API_URL", format!("http://127.0.0.1:{}", self.port)).env("GITHUB_APP_ID", "42");
        command.env("GITHUB_APP_PRIVATE_KEY", place.read("home/key.pem")).env("GITHUB_APP_INSTALLATION_ID", "7");
        command
    }

    fn says(&self, place: &Place, arguments: &[&str]) -> Said {
        self.polder(place, arguments).output().expect("polder").into()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.try_iter().collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn place() -> Place {
    let place = Place::new();
    place.write("home/.config/polder/polder.yaml", GIVEN);
    place
}

const MINT: &str = "POST /app/installations/7/access_tokens";

#[test]
fn a_run_has_a_token_of_the_app_and_neither_its_key_nor_its_proof() {
    let place = place();
    let server = Server::start(&place, 3600);
    let look =
        "echo ${#GITHUB_TOKEN} ${#GH_TOKEN}; echo $GITHUB_TOKEN; git ls-remote --get-url https://github.com/o/r; env";
    let said = server.says(&place, &["run", "--", "sh", "-c", look]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.starts_with("11 11\n***\nhttps://x-access-token:***@github.com/o/r\n"), "{said:?}");
    for word in ["PRIVATE KEY", "GITHUB_APP", "ghs_token", "Bearer", "eyJ"] {
        assert!(!said.out.contains(word) && !said.err.contains(word), "{word}: {said:?}");
    }
    assert_eq!(server.asked(), [MINT]);
    // The control: where a policy names the key, it passes.
    let said = server.says(&place, &["run", "--sandbox", "without", "--", "env"]);
    assert!(said.out.contains("PRIVATE KEY") && !said.out.contains("ghs_token"), "{said:?}");
    assert!(server.asked().is_empty(), "nobody asks for a token that no policy names");
    let said = place.sh("grep -rl -e ghs_token -e 'eyJ' .. --include='*' | grep -v key.pem");
    assert_eq!(said.out, "", "nothing of it is on the disk");
}

#[test]
fn the_key_may_be_a_file_in_either_form_and_the_installation_that_of_a_repository() {
    let place = place();
    let server = Server::start(&place, 3600);
    let convert = ["pkcs8", "-topk8", "-nocrypt", "-in", "key.pem", "-out", "pkcs8.pem"];
    assert!(place.command("openssl").args(convert).current_dir(place.home()).status().expect("openssl").success());
    let pkcs1 = ["rsa", "-traditional", "-in", "key.pem", "-out", "pkcs1.pem"];
    assert!(place.command("openssl").args(pkcs1).current_dir(place.home()).status().expect("openssl").success());
    for (name, begins) in [("pkcs8.pem", "-----BEGIN PRIVATE"), ("pkcs1.pem", "-----BEGIN RSA PRIVATE")] {
        assert!(place.read(format!("home/{name}")).starts_with(begins));
        let mut command = server.polder(&place, &["run", "--", "sh", "-c", "echo ${#GITHUB_TOKEN}"]);
        command.env("GITHUB_APP_PRIVATE_KEY", place.home().join(name));
        command.env_remove("GITHUB_APP_INSTALLATION_ID").env("GITHUB_REPOSITORY", "o/r");
        let said = Said::from(command.output().expect("polder"));
        assert_eq!((said.code, said.out.as_str()), (0, "11\n"), "{name}: {said:?}");
        assert_eq!(server.asked(), ["GET /repos/o/r/installation", MINT]);
    }
    let mut command = server.polder(&place, &["run", "--", "true"]);
    command.env("GITHUB_APP_PRIVATE_KEY", place.read("home/key.pem").replace('\n', "\\n"));
    assert_eq!(Said::from(command.output().expect("polder")).code, 0, "line breaks as two letters");
}

#[test]
fn steps_share_a_token_while_it_is_young_and_get_a_new_one_when_it_is_not() {
    let steps =
        "steps: {a: {exec: 'echo $GITHUB_TOKEN'}, b: {exec: 'echo $GITHUB_TOKEN', depends_on: a}, c: {exec: 'true'}}\n";
    for (seconds, fewest, most) in [(3600, 1, 1), (60, 4, 6)] {
        let place = place();
        let server = Server::start(&place, seconds);
        place.write("work/polder.yaml", steps);
        let said = server.says(&place, &["steps"]);
        assert_eq!((said.code, said.out.as_str()), (0, "***\n***\n"), "{said:?}");
        let asked = server.asked();
        assert!((fewest..=most).contains(&asked.len()), "{seconds}: {asked:?}");
    }
}

#[test]
fn without_a_token_nothing_starts_and_the_reason_is_said() {
    let place = place();
    let server = Server::start(&place, 3600);
    let other = Server::start(&Place::new(), 3600);
    let cases: [(&str, &str, &str); 7] = [
        ("GITHUB_APP_ID", "43", "gives no token: 401 wrong claims"),
        ("GITHUB_APP_INSTALLATION_ID", "8", "gives no token: 404 Not Found"),
        ("GITHUB_APP_INSTALLATION_ID", "9", "answered with something that is no token"),
        ("GITHUB_APP_PRIVATE_KEY", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "is no RSA key"),
        ("GITHUB_API_URL", "http://api.github.example", "an address that begins with https://"),
        ("GITHUB_API_URL", "http://127.0.0.1:1", "cannot ask `http://127.0.0.1:1` for a token"),
        ("GITHUB_API_URL", &format!("http://127.0.0.1:{}", other.port), "gives no token: 401 wrong signature"),
    ];
    for (name, value, wanted) in cases {
        let mut command = server.polder(&place, &["run", "--", "touch", "ran"]);
        command.env(name, value);
        let said = Said::from(command.output().expect("polder"));
        assert!(said.code == 125 && said.err.contains(wanted), "{name}={value}: {said:?}");
        assert!(!said.err.contains('\x1b') && !said.err.contains("eyJ"), "{said:?}");
        assert!(!place.has("work/ran"), "{name}={value}");
    }
    let mut command = server.polder(&place, &["run", "--", "touch", "ran"]);
    command.env_remove("GITHUB_APP_INSTALLATION_ID").env("GITHUB_REPOSITORY", "o/away");
    let said = Said::from(command.output().expect("polder"));
    assert!(said.code == 125 && said.err.contains("302"), "a proof follows nobody elsewhere: {said:?}");
}

#[test]
fn over_tls_only_a_server_that_an_authority_vouches_for_gets_a_proof() {
    let place = place();
    let server = Server::over_tls(&place);
    let asks = |authority: &str, host: &str| {
        let mut command = server.polder(&place, &["run", "--", "sh", "-c", "echo ${#GITHUB_TOKEN} >ran"]);
        command.env("GITHUB_API_URL", format!("https://{host}:{}", server.port));
        command.env("SSL_CERT_FILE", place.home().join(authority));
        Said::from(command.output().expect("polder"))
    };
    // Another authority, none at all (the well-known ones do not know it either), another name, and no file.
    for (authority, host, wanted) in [
        ("other.pem", "localhost", "certificate"),
        ("authority.pem", "127.0.0.1", "certificate"),
        ("public.pem", "localhost", "there is no certificate in it"),
        ("nobody.pem", "localhost", "SSL_CERT_FILE"),
    ] {
        let said = asks(authority, host);
        assert!(said.code == 125 && said.err.contains(wanted), "{authority} {host}: {said:?}");
    }
    let mut command = server.polder(&place, &["run", "--", "touch", "ran"]);
    command.env("GITHUB_API_URL", format!("https://localhost:{}", server.port));
    assert_eq!(Said::from(command.output().expect("polder")).code, 125);
    assert!(!place.has("work/ran") && server.asked().is_empty(), "nobody saw a proof");
    let said = asks("authority.pem", "localhost");
    assert_eq!((said.code, place.read("work/ran").as_str()), (0, "11\n"), "{said:?}");
    assert_eq!(server.asked(), [MINT]);
}

#[test]
fn looking_at_a_plan_asks_nobody_for_a_token() {
    let place = place();
    let server = Server::start(&place, 3600);
    place.write("work/polder.yaml", "steps: {a: {exec: 'echo $GITHUB_TOKEN'}}\n");
    for arguments in [&["run", "--dry-run", "--", "true"][..], &["steps", "--dry-run"]] {
        let said = server.says(&place, arguments);
        assert!(said.code == 0 && !said.out.contains("not-asked-for"), "{said:?}");
    }
    assert!(server.asked().is_empty());
    // What is wrong is told all the same.
    let mut command = server.polder(&place, &["run", "--dry-run", "--", "true"]);
    let said = Said::from(command.env_remove("GITHUB_APP_ID").output().expect("polder"));
    assert!(said.code == 125 && said.err.contains("GITHUB_APP_ID"), "{said:?}");
    assert_eq!(server.says(&place, &["steps"]).code, 0);
    assert_eq!(server.asked(), [MINT], "the control");
}
