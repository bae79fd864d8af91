use std::collections::HashMap;

use super::Proxies;

fn read(variables: &[(&str, &str)]) -> Result<Proxies, String> {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    Proxies::read(&|name| variables.get(name).map(|text| (*text).to_owned()))
}

/// The proxy towards an address; `-` is none.
fn towards(proxies: &Proxies, address: &str) -> String {
    let proxy = proxies.towards(&address.parse().unwrap());
    proxy.map_or("-".into(), |proxy| proxy.to_string())
}

const BOTH: [(&str, &str); 2] = [("HTTPS_PROXY", "http://s:1"), ("HTTP_PROXY", "http://p:2")];

#[test]
fn fc_116_the_scheme_of_the_upstream_chooses_the_variable() {
    let proxies = read(&BOTH).unwrap();
    assert_eq!(towards(&proxies, "https://api.example.com/v1"), "http://s:1");
    assert_eq!(towards(&proxies, "http://api.example.com/v1"), "http://p:2");
    assert_eq!(towards(&read(&BOTH[..1]).unwrap(), "http://api.example.com"), "-");
    assert_eq!(towards(&Proxies::default(), "https://api.example.com"), "-");
}

#[test]
fn fc_116_lower_case_comes_first_and_what_is_empty_is_not_there() {
    let one = |variables: &[(&str, &str)]| towards(&read(variables).unwrap(), "https://x.example");
    assert_eq!(one(&[("https_proxy", "http://low:1"), ("HTTPS_PROXY", "http://up:1")]), "http://low:1");
    assert_eq!(one(&[("https_proxy", " "), ("HTTPS_PROXY", "http://up:1")]), "http://up:1");
    assert_eq!(one(&[("https_proxy", ""), ("HTTPS_PROXY", "")]), "-");
    assert_eq!(one(&[("HTTPS_PROXY", "http://up:1"), ("no_proxy", "x.example"), ("NO_PROXY", "")]), "-");
}

#[test]
fn fc_116_the_field_case() {
    let mut variables = BOTH.to_vec();
    variables.push(("NO_PROXY", "localhost,.corp,10.0.0.0/8,[::1]"));
    let proxies = read(&variables).unwrap();
    for (address, expected) in [
        ("https://api.example.com", "http://s:1"),
        ("https://x.corp", "-"),
        ("https://x.corp.example", "http://s:1"),
        ("https://xcorp", "http://s:1"),
        ("http://localhost:11434", "-"),
        ("http://10.1.2.3", "-"),
        ("http://11.0.0.1", "http://p:2"),
        ("http://[::1]:8080", "-"),
    ] {
        assert_eq!(towards(&proxies, address), expected, "{address}");
    }
}

#[test]
fn fc_116_each_form_of_an_exception() {
    for (none, address, direct) in [
        ("*", "https://api.example.com", true),
        ("example.com", "https://example.com", true),
        ("example.com", "https://api.example.com", true),
        ("example.com", "https://notexample.com", false),
        ("EXAMPLE.com", "https://API.Example.COM", true),
        (".example.com", "https://example.com", true),
        ("*.example.com", "https://api.example.com", true),
        ("example.com.", "https://example.com", true),
        ("example.com:443", "https://example.com", true),
        ("example.com:443", "https://example.com:8443", false),
        ("example.com:80", "http://example.com", true),
        ("192.0.2.7", "http://192.0.2.7", true),
        ("192.0.2.7:8080", "http://192.0.2.7:8080", true),
        ("192.0.2.7:8080", "http://192.0.2.7", false),
        ("192.0.2.0/24", "http://192.0.2.255", true),
        ("192.0.2.0/24", "http://192.0.3.0", false),
        ("0.0.0.0/0", "http://192.0.2.1", true),
        ("0.0.0.0/0", "http://[2001:db8::1]", false),
        ("192.0.2.0/33", "http://192.0.2.1", false),
        ("2001:db8::/32", "http://[2001:db8:1::1]", true),
        ("[2001:db8::1]", "http://[2001:db8::1]:80", true),
        ("[2001:db8::1]:81", "http://[2001:db8::1]", false),
        ("::/0", "https://[2001:db8::1]", true),
        ("a.example , ,b.example", "https://b.example", true),
        ("a.example b.example", "https://b.example", true),
        (",", "https://b.example", false),
        (":80", "http://b.example", false),
    ] {
        let mut variables = BOTH.to_vec();
        variables.push(("NO_PROXY", none));
        let proxies = read(&variables).unwrap();
        assert_eq!(towards(&proxies, address) == "-", direct, "{none} for {address}");
    }
}

#[test]
fn fc_116_this_machine_is_never_reached_through_a_proxy_of_the_environment() {
    let proxies = read(&BOTH).unwrap();
    for address in [
        "http://localhost:11434",
        "http://LOCALHOST",
        "http://llm.localhost",
        "http://127.0.0.1:1",
        "https://127.9.9.9",
        "http://[::1]:1",
        "http://[::ffff:127.0.0.1]",
        "http://0.0.0.0:1",
    ] {
        assert_eq!(towards(&proxies, address), "-", "{address}");
    }
}

#[test]
fn a_proxy_of_another_kind_is_told_by_its_variable_and_not_quoted() {
    for name in ["https_proxy", "HTTP_PROXY"] {
        let error = read(&[(name, "socks5://user:secret@h:1")]).unwrap_err();
        assert!(error.starts_with(name) && !error.contains("secret"), "{error}");
    }
}
