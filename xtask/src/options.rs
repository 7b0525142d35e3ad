//! Options of `fabricsim ordering-demo`, from the settings of endpoints and of the network between them.

use std::fmt::Write;

use fabricsim_sockets::{ProxySettings, Settings};
use serde_json::Value;

use crate::python::{HEAD, docstring};
use crate::schema::{names, plain_type, properties, range, reference, text, unit};

/// An option, as its field defines it.
struct Setting {
    /// Key in the settings of the engine.
    key: String,
    /// Argument in Python.
    argument: String,
    /// Option of the command line.
    option: String,
    annotation: String,
    default: String,
    /// Text without range.
    text: String,
    range: Option<String>,
    unit: Option<String>,
    /// Least and greatest value, both allowed.
    limits: Option<(String, String)>,
}

/// Paths and contents of the generated files.
pub(crate) fn files() -> Vec<(String, String)> {
    let endpoint = fabricsim_spec::schema_of::<Settings>();
    let network = fabricsim_spec::schema_of::<ProxySettings>();
    let modes = names(&endpoint["$defs"]["DemoMode"]);
    let (of_endpoint, of_network) = (settings(&endpoint), settings(&network));
    vec![
        ("ordering_demo/options.py".to_owned(), arguments(&modes, &of_endpoint, &of_network)),
        ("cli/ordering_options.py".to_owned(), command(&of_endpoint, &of_network)),
    ]
}

fn settings(schema: &Value) -> Vec<Setting> {
    properties(schema).filter_map(|(key, value)| setting(key, value)).collect()
}

/// The option of a field; `None` for fields that Python computes.
fn setting(key: &str, schema: &Value) -> Option<Setting> {
    let annotation = match plain_type(schema) {
        Some("integer") => "int",
        Some("number") => "float",
        Some("boolean") => "bool",
        _ if reference(schema) == Some("DemoMode") => "Mode",
        _ => "str",
    };
    let default = match &schema["default"] {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    };
    let limits = ["minimum", "maximum"].map(|key| schema.get(key).map(Value::to_string));
    let [least, most] = limits;
    Some(Setting {
        key: key.to_owned(),
        argument: schema["x-argument"].as_str().unwrap_or(key).to_owned(),
        option: schema["x-option"].as_str()?.to_owned(),
        annotation: annotation.to_owned(),
        default,
        text: text(schema),
        range: range(schema),
        unit: unit(schema).map(str::to_owned),
        limits: least.zip(most),
    })
}

impl Setting {
    fn described(&self) -> String {
        let range = self.range.as_ref().map(|range| format!(" Range: {range}.")).unwrap_or_default();
        let unit = self.unit.as_ref().map(|unit| format!(" Unit: {unit}.")).unwrap_or_default();
        format!("{}{range}{unit} Default: {}.", self.text, self.default)
    }

    /// The name of the type of the command's parameter.
    fn type_name(&self) -> String {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        format!("_{}", self.argument.split('_').map(capital).collect::<String>())
    }

    /// The type of the command's parameter: with the option.
    fn option_type(&self) -> String {
        let mut lines = format!("        \"{}\",\n", self.option);
        if let Some(unit) = self.unit.as_ref().filter(|unit| ["s", "us"].contains(&unit.as_str())) {
            let _ = writeln!(lines, "        metavar=\"{}\",", unit.to_uppercase());
        }
        if let Some((least, most)) = &self.limits {
            let _ = writeln!(lines, "        min={least},\n        max={most},");
        }
        let _ = writeln!(lines, "        help=\"{}\",", self.text);
        let (name, annotation) = (self.type_name(), &self.annotation);
        format!("{name} = Annotated[\n    {annotation},\n    typer.Option(\n{lines}    ),\n]\n")
    }

    /// The parameter of the command.
    fn parameter(&self) -> String {
        format!("    {}: {} = {},\n", self.argument, self.type_name(), self.default)
    }
}

/// The module of arguments: their types, defaults, and keys in the settings of the engine.
fn arguments(modes: &[(&str, String)], endpoint: &[Setting], network: &[Setting]) -> String {
    let mut source = HEAD.to_owned();
    source.push_str(
        "\"\"\"Options of the ordering demonstration.\"\"\"\n\nfrom __future__ import annotations\n\n",
    );
    source.push_str("from typing import Literal, TypedDict\n\n__all__ = [\"DEFAULTS\", \"ENDPOINT\", ");
    source.push_str("\"NETWORK\", \"DemoOptions\", \"Mode\"]\n\nMode = Literal[\n");
    for (mode, _) in modes {
        let _ = writeln!(source, "    \"{mode}\",");
    }
    let listed: Vec<String> = modes.iter().map(|(mode, text)| format!("- `{mode}`: {text}")).collect();
    let _ = write!(source, "]\n{}", docstring(&format!("Ordering modes.\n\n{}", listed.join("\n")), 0));
    source.push_str("\n\nclass DemoOptions(TypedDict, total=False):\n");
    source.push_str(
        "    \"\"\"Arguments of `ordering_demo`. Those that are left out have their defaults.\"\"\"\n\n",
    );
    for setting in endpoint.iter().chain(network) {
        let _ = writeln!(source, "    {}: {}", setting.argument, setting.annotation);
        source.push_str(&docstring(&setting.described(), 4));
    }
    source.push_str("\n\nDEFAULTS: DemoOptions = {\n");
    for setting in endpoint.iter().chain(network) {
        let _ = writeln!(source, "    \"{}\": {},", setting.argument, setting.default);
    }
    source.push_str("}\n");
    for (name, of, settings) in
        [("ENDPOINT", "both endpoints", endpoint), ("NETWORK", "the network between them", network)]
    {
        let _ = writeln!(source, "\n{name} = {{");
        for Setting { key, argument, .. } in settings {
            let _ = writeln!(source, "    \"{key}\": \"{argument}\",");
        }
        let _ = writeln!(
            source,
            "}}\n\"\"\"Keys in the settings of {of}, with the arguments that give their values.\"\"\""
        );
    }
    source
}

/// The module of the command, whose parameters are the options.
fn command(endpoint: &[Setting], network: &[Setting]) -> String {
    let mut source = HEAD.to_owned();
    source.push_str(
        "\"\"\"`fabricsim ordering-demo`: its options.\"\"\"\n\nfrom __future__ import annotations\n\n\
         from pathlib import Path\nfrom typing import Annotated\n\nimport typer\n\n\
         from fabricsim.cli.ordering_demo import run\nfrom fabricsim.cli.state import Json\n\
         from fabricsim.ordering_demo import Mode\n\n__all__ = [\"ordering_demo\"]\n\n",
    );
    for setting in endpoint.iter().chain(network) {
        source.push_str(&setting.option_type());
    }
    source.push_str(
        "_File = Annotated[\n    Path | None,\n    typer.Option(\n        \"--file\",\n        \
         help=\"Send this file instead of random bytes.\",\n    ),\n]\n\n\ndef ordering_demo(\n",
    );
    for setting in endpoint.iter().chain(network) {
        source.push_str(&setting.parameter());
    }
    source.push_str(
        "    file: _File = None,\n    json: Json = False,\n) -> None:\n    \"\"\"Transfer bytes between two processes over UDP, through a network that delays, reorders \
         and drops.\"\"\"\n    run(\n        {\n",
    );
    for Setting { argument, .. } in endpoint.iter().chain(network) {
        let _ = writeln!(source, "            \"{argument}\": {argument},");
    }
    source.push_str("        },\n        file,\n        json,\n    )\n");
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_an_argument_and_a_parameter() {
        let files = files();
        let [(_, arguments), (_, command)] = &files[..] else { panic!("two files") };
        for (option, argument, default) in [
            ("--mode", "mode", "\"ordered\""),
            ("--bytes", "size", "8000000"),
            ("--exactly-once", "exactly_once", "False"),
            ("--deadline", "deadline_s", "120"),
            ("--loss", "loss", "0.01"),
            ("--port", "port", "0"),
        ] {
            assert!(command.contains(&format!("\n        \"{option}\",\n")), "{option}");
            assert!(command.contains(&format!(" = {default},\n")), "{option}");
            assert!(arguments.contains(&format!("\n    \"{argument}\": {default},\n")), "{option}");
        }
        assert!(command.contains("        min=1,\n        max=1400,\n"), "{command}");
        assert!(arguments.contains("    \"bytes\": \"size\",\n") && !arguments.contains("queue_bytes"));
    }

    /// `pycodestyle.max-line-length` in `pyproject.toml`.
    #[test]
    fn texts_fit_on_their_lines() {
        for (path, content) in files() {
            let long = content.lines().find(|line| line.chars().count() > 120);
            assert_eq!(long, None, "{path}");
        }
    }
}
