//! Spans of runs, read by the official types of OpenTelemetry on the other side of a real connection.
#![forbid(unsafe_code)]

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use polder_e2e::{Place, Said};
use prost::Message;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

struct Request {
    head: String,
    body: Vec<u8>,
}

/// A collector on the loopback that answers every request with this status.
struct Collector {
    port: u16,
    requests: Receiver<Request>,
}

impl Collector {
    fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (tell, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let mut reader = BufReader::new(stream.try_clone().expect("the same one"));
                let (mut head, mut line) = (String::new(), String::new());
                while reader.read_line(&mut line).expect("a line") > 2 {
                    head.push_str(&std::mem::take(&mut line));
                }
                let length = head
                    .to_lowercase()
                    .split("content-length: ")
                    .nth(1)
                    .and_then(|rest| rest.split("\r\n").next().and_then(|number| number.parse::<usize>().ok()));
                let mut body = vec![0; length.expect("a length")];
                reader.read_exact(&mut body).expect("a body");
                let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                stream.write_all(answer.as_bytes()).expect("somebody reads");
                if tell.send(Request { head, body }).is_err() {
                    break;
                }
            }
        });
        Self { port, requests }
    }

    fn says(&self, place: &Place, arguments: &[&str]) -> Said {
        let mut command = place.polder(arguments);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{}", self.port));
        command.env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20secret").env("TRACEPARENT", PARENT);
        command.output().expect("polder").into()
    }

    /// The spans of the one request that came.
    fn spans(&self) -> Vec<Span> {
        let Request { head, body } = self.requests.recv().expect("a request");
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        let low = head.to_lowercase();
        assert!(low.contains("content-type: application/x-protobuf") && low.contains("x-key: a secret"), "{head}");
        let request = ExportTraceServiceRequest::decode(body.as_slice()).expect("protobuf as it is specified");
        assert!(self.requests.try_recv().is_err(), "one request");
        let resource = &request.resource_spans[0];
        let service = &resource.resource.as_ref().expect("a resource").attributes;
        assert_eq!(text(service, "service.name").as_deref(), Some("polder"));
        resource.scope_spans[0].spans.clone()
    }
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn value(attributes: &[KeyValue], key: &str) -> Option<any_value::Value> {
    attributes.iter().find(|pair| pair.key == key)?.value.clone()?.value
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    match value(attributes, key)? {
        any_value::Value::StringValue(text) => Some(text),
        _ => None,
    }
}

fn number(attributes: &[KeyValue], key: &str) -> Option<i64> {
    match value(attributes, key)? {
        any_value::Value::IntValue(number) => Some(number),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_run_is_a_span_in_the_trace_of_its_caller_and_never_says_what_ran() {
    let place = Place::new();
    let collector = Collector::start(200);
    let script = "echo $TRACEPARENT; cat /etc/shadow; exit 3 # a-word-of-the-command";
    let said = collector.says(&place, &["run", "--", "sh", "-c", script]);
    assert_eq!(said.code, 3, "{said:?}");
    let spans = collector.spans();
    assert_eq!(spans.len(), 1, "{spans:?}");
    let span = &spans[0];
    // What runs inside is below the run, not beside it.
    assert_eq!(said.out, format!("00-{TRACE}-{}-01\n", hex(&span.span_id)));
    assert_eq!(span.name, "polder.sandbox.native.exec");
    assert_eq!((hex(&span.trace_id).as_str(), hex(&span.parent_span_id).as_str()), (TRACE, "b7ad6b7169203331"));
    assert!(span.span_id.len() == 8 && span.span_id != [0; 8], "{span:?}");
    assert!(span.start_time_unix_nano > 0 && span.start_time_unix_nano <= span.end_time_unix_nano);
    assert_eq!(number(&span.attributes, "polder.sandbox.exit_code"), Some(3));
    assert_eq!(number(&span.attributes, "polder.sandbox.words"), Some(3));
    assert_eq!(text(&span.attributes, "polder.sandbox.name").as_deref(), Some("default"));
    assert_eq!(span.status.as_ref().map(|status| status.code), Some(2), "an error");
    assert!(span.events.iter().any(|event| event.name == "polder.sandbox.launch"), "{:?}", span.events);
    assert!(!format!("{spans:?}").contains("a-word-of-the-command"), "{spans:?}");
}

#[test]
fn with_a_visor_file_the_names_are_the_ones_that_its_users_know() {
    let place = Place::new();
    place.write(
        "work/.visor.yaml",
        "sandboxes: {fast: {engine: bubblewrap, network: false}}\nsandbox: fast\n\
         steps: {a: {type: command, exec: 'true'}, b: {type: command, exec: 'exit 2'}}\n",
    );
    let collector = Collector::start(200);
    let said = collector.says(&place, &["steps"]);
    assert_eq!(said.code, 1, "{said:?}");
    let spans = collector.spans();
    assert_eq!(spans.len(), 2, "{spans:?}");
    let mut codes: Vec<_> =
        spans.iter().map(|span| number(&span.attributes, "visor.sandbox.exit_code").expect("a code")).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 2]);
    for span in &spans {
        assert_eq!(span.name, "visor.sandbox.bwrap.exec");
        assert_eq!(text(&span.attributes, "visor.sandbox.name").as_deref(), Some("fast"));
        assert_eq!(hex(&span.trace_id), TRACE);
    }
    assert_ne!(spans[0].span_id, spans[1].span_id);
}

#[test]
fn what_was_blocked_and_a_limit_are_events_of_the_span() {
    let place = Place::new();
    place.write("home/secret", "x");
    let collector = Collector::start(200);
    let secret = place.home().join("secret").display().to_string();
    let said = collector.says(&place, &["run", "--output", "1000", "--", "sh", "-c", &format!("cat {secret}; yes")]);
    assert_eq!(said.code, 137, "{said:?}");
    let spans = collector.spans();
    let named = |name: &str| spans[0].events.iter().filter(|event| event.name == name).count();
    assert!(named("polder.sandbox.violation") >= 1 && named("polder.sandbox.limit") == 1, "{:?}", spans[0].events);
    // What was asked for is between the command and its caller.
    assert!(!format!("{spans:?}").contains(&secret), "{spans:?}");
}

#[test]
fn nothing_is_sent_unless_it_was_asked_for_and_a_collector_is_in_nobodys_way() {
    let place = Place::new();
    let collector = Collector::start(200);
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    let mut off = place.polder(&["run", "--", "true"]);
    off.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{}", collector.port));
    let said = Said::from(off.env("OTEL_SDK_DISABLED", "true").output().expect("polder"));
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(collector.requests.try_recv().is_err(), "nothing was asked for");
    let refusing = Collector::start(503);
    let said = refusing.says(&place, &["run", "--", "sh", "-c", "exit 4"]);
    assert!(said.code == 4 && said.err.contains("no spans are sent") && said.err.contains("503"), "{said:?}");
    for (name, value, wanted) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "was not reached"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "polder speaks http/protobuf"),
    ] {
        let mut command = place.polder(&["run", "--", "sh", "-c", "exit 5"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1").env(name, value);
        let said = Said::from(command.output().expect("polder"));
        assert!(said.code == 5 && said.err.contains(wanted), "{name}: {said:?}");
    }
}

#[test]
fn a_policy_that_speaks_of_the_trace_has_the_last_word_and_a_new_trace_enters_too() {
    let place = Place::new();
    let collector = Collector::start(200);
    let said = collector.says(&place, &["run", "--env", "TRACEPARENT=mine", "--", "printenv", "TRACEPARENT"]);
    assert_eq!((said.code, said.out.as_str()), (0, "mine\n"), "{said:?}");
    collector.spans();
    let mut command = place.polder(&["run", "--", "printenv", "TRACEPARENT"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{}", collector.port));
    let said = Said::from(command.env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20secret").output().expect("polder"));
    let span = collector.spans().remove(0);
    assert_eq!(said.out, format!("00-{}-{}-01\n", hex(&span.trace_id), hex(&span.span_id)), "{said:?}");
    // Where nothing is sent the caller's own enters, as it is.
    let mut command = place.polder(&["run", "--", "printenv", "TRACEPARENT"]);
    let said = Said::from(command.env("TRACEPARENT", PARENT).output().expect("polder"));
    assert_eq!(said.out, format!("{PARENT}\n"), "{said:?}");
}

#[test]
fn runs_are_counted_in_a_file_that_prometheus_can_read() {
    let place = Place::new();
    let file = place.home().join("polder.prom");
    let counted = |arguments: &[&str]| {
        let mut command = place.polder(arguments);
        Said::from(command.env("POLDER_METRICS_FILE", &file).output().expect("polder"))
    };
    assert_eq!(
        counted(&["run", "--", "printenv", "TRACEPARENT"]).code,
        1,
        "a span that nobody sends has no name inside"
    );
    assert_eq!(counted(&["run", "--dry-run", "--", "true"]).code, 0);
    place.write("work/polder.yaml", "steps: {a: {exec: 'true'}, b: {exec: 'exit 2'}, c: {exec: 'cat ~/../x'}}\n");
    // Several at once take turns.
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| assert_eq!(counted(&["steps"]).code, 1)))));
    let text = std::fs::read_to_string(&file).expect("the counters");
    let mut series = std::collections::BTreeMap::new();
    let mut families = std::collections::BTreeSet::new();
    for line in text.lines() {
        // The grammar of the text format, in the form that every line of ours has.
        if let Some(family) = line.strip_prefix("# TYPE ") {
            let (name, kind) = family.split_once(' ').expect("a name and a kind");
            assert!(kind == "counter" && name.ends_with("_total") && families.insert(name.to_owned()), "{line}");
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            let (family, labels) = name.strip_suffix('}').and_then(|name| name.split_once('{')).expect("labels");
            assert!(families.contains(family), "{line}: its kind comes first");
            let labels: Vec<_> = labels.split("\",").map(|label| label.split_once("=\"").expect("a label").0).collect();
            assert!(labels.starts_with(&["engine", "sandbox"]), "{line}");
            assert!(series.insert(name.to_owned(), value.parse::<f64>().expect("a number")).is_none(), "{line}: once");
        }
    }
    let runs = |result: &str| {
        series[&format!("polder_sandbox_runs_total{{engine=\"native\",sandbox=\"default\",result=\"{result}\"}}")]
    };
    assert_eq!((runs("passed"), runs("failed")), (4.0, 9.0), "{text}");
    assert!(
        families.contains("polder_sandbox_run_seconds_total") && families.contains("polder_sandbox_violations_total")
    );
    // Somebody else's file stays as it is.
    place.write("home/polder.prom", "somebody 1\n");
    let said = counted(&["run", "--", "true"]);
    assert!(
        said.code == 0 && said.err.contains("is not a file of counters that polder has written: line 1"),
        "{said:?}"
    );
    assert_eq!(place.read("home/polder.prom"), "somebody 1\n");
    assert_eq!(place.sh("ls -A ../home | grep -c prom").out, "1\n", "nothing else is left");
}

/// A collector over TLS, with a certificate of the authority in `home/authority.pem`; `home/other.pem` is another one. It
/// answers 200 and says on a line what was asked for.
const OVER_TLS: &str = r"
import ssl
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200); self.send_header('Content-Length', '0'); self.end_headers()
        print(self.path, len(body) > 100, flush=True)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('server.pem', 'server-key.pem')
server = HTTPServer(('127.0.0.1', 0), Handler)
# Whoever does not trust us hangs up, and the next one is served all the same.
server.handle_error = lambda *_: None
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
";

#[test]
fn a_collector_over_tls_is_believed_when_the_named_authority_vouches_for_it() {
    let place = Place::new();
    place.certify();
    let mut server = place.command("python3");
    server.args(["-c", OVER_TLS]).current_dir(place.home()).stdout(std::process::Stdio::piped());
    let mut server = Killed(server.spawn().expect("python3"));
    let mut lines = BufReader::new(server.0.stdout.take().expect("a pipe")).lines();
    let port = lines.next().expect("a line").expect("the port");
    let run = |named: &[(&str, &str)]| -> Said {
        let mut command = place.polder(&["run", "--", "true"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("https://localhost:{port}"));
        command.envs(named.iter().map(|(name, file)| (name, place.home().join(file))));
        command.output().expect("polder").into()
    };
    const OWN: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";
    const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE";
    // Nobody vouches for it, another one does, or the file is not what it should be: said, and the run is what it was.
    for (named, wanted) in [
        (&[][..], "was not reached"),
        (&[(OWN, "other.pem")], "was not reached"),
        (&[(OWN, "authority.pem"), (TRACES, "other.pem")], "was not reached"),
        (&[(OWN, "missing.pem"), ("SSL_CERT_FILE", "authority.pem")], "missing.pem`: No such file"),
        (&[(OWN, "names")], "names`: there is no certificate in it"),
    ] {
        let said = run(named);
        assert!(said.code == 0 && said.err.contains("polder: no spans are sent: "), "{named:?}: {said:?}");
        assert!(said.err.contains(wanted), "{named:?}: {said:?}");
    }
    for named in [
        &[(OWN, "authority.pem")][..],
        &[(OWN, "other.pem"), (TRACES, "authority.pem")],
        &[("SSL_CERT_FILE", "authority.pem")],
    ] {
        let said = run(named);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{named:?}");
        assert_eq!(lines.next().expect("a line").expect("a line"), "/v1/traces True", "{named:?}");
    }
}

/// A process that does not outlive its test, whatever comes of it.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
