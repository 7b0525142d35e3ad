//! Prints what the generated files about results are written from: the JSON Schema of the summary, and all tables.
//! `cargo run -p xtask -- generate` runs it.

fn main() {
    let (schema, tables) = (fabricsim_simulation::results_schema(), fabricsim_simulation::catalogue());
    println!("{}", serde_json::json!({ "schema": schema, "tables": tables }));
}
