// The decoder of the crate stellar-xdr, as a program. Each line of standard input, "TYPE HEX", gives one line of output: what the decoded
// value is encoded to; "refused"; or "unknown", when the crate has no such type.
use std::io::{self, BufRead, Write};
use std::str::FromStr;
use stellar_xdr::{Limits, Type, TypeVariant, WriteXdr};

fn judge(name: &str, hex: &str) -> String {
    let Ok(variant) = TypeVariant::from_str(name) else {
        return "unknown".into();
    };
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    let limits = Limits { depth: 10000, len: bytes.len() };
    match Type::from_xdr(variant, &bytes, limits) {
        Ok(value) => value.to_xdr(Limits::none()).unwrap().iter().map(|byte| format!("{byte:02x}")).collect(),
        Err(_) => "refused".into(),
    }
}

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout());
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (name, hex) = line.split_once(' ').unwrap();
        writeln!(out, "{}", judge(name, hex))?;
    }
    out.flush()
}
