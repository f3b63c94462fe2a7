use super::*;

fn read(pairs: &[(&str, &str)]) -> Result<Option<Destination>, DestinationError> {
    let pairs = pairs.iter().map(|(name, value)| (OsString::from(*name), OsString::from(*value)));
    Destination::from_environment(&pairs.collect())
}

#[test]
fn nothing_goes_anywhere_unless_a_variable_names_a_destination() {
    for silent in [
        &[][..],
        &[("OTEL_SERVICE_NAME", "x"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=b")],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h"), ("OTEL_SDK_DISABLED", "true")],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h"), ("OTEL_TRACES_EXPORTER", "none")],
    ] {
        assert_eq!(read(silent), Ok(None), "{silent:?}");
    }
}

#[test]
fn the_variables_mean_what_the_specification_says() {
    let said = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318/"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x, b=c=d"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
    ]);
    let said = said.unwrap().unwrap();
    assert_eq!((said.address.as_str(), said.service.as_str()), ("http://h:4318/v1/traces", "polder"));
    assert_eq!(said.headers, [("Authorization", "Bearer x"), ("b", "c=d")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(said.timeout, Duration::from_millis(250));
    assert!(!format!("{said:?}").contains("Bearer"));
    let own =
        read(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/x"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h")]);
    assert_eq!(own.unwrap().unwrap().address, "https://t/x");
}

#[test]
fn what_cannot_be_done_is_an_error() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h");
    for (wrong, wanted) in [
        (("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), "polder speaks http/protobuf"),
        (("OTEL_EXPORTER_OTLP_HEADERS", "secret"), "is no list of NAME=VALUE"),
        (("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"), "is no number of milliseconds"),
        (("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "h:4317"), "is no address"),
        (("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k"), "asks for a certificate of polder's own"),
    ] {
        let error = read(&[endpoint, wrong]).unwrap_err().to_string();
        assert!(error.contains(wanted) && !error.contains("secret"), "{error}");
    }
}

#[test]
fn what_is_said_about_traces_names_the_authorities_before_what_is_said_about_everything() {
    let mut said = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "https://h")];
    let authorities = |said: &[(&str, &str)]| read(said).unwrap().unwrap().authorities;
    assert_eq!(authorities(&said), None);
    for (name, path) in [
        ("SSL_CERT_FILE", "/all"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/own"),
        ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "/traces"),
    ] {
        said.push((name, path));
        assert_eq!(authorities(&said), Some((name, PathBuf::from(path))));
    }
    said[0].1 = "http://h";
    assert_eq!(authorities(&said), None, "nobody has to vouch for anybody there");
}
