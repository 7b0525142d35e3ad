//! Forwarding tables, `.fdbs`: those that are accepted are written and read again.
#![no_main]

use std::sync::LazyLock;

use fabricsim_routing::fdbs::{RowKeys, read, write};
use fabricsim_topology::Graph;

static MESH: LazyLock<Graph> = LazyLock::new(fabricsim_fuzz::mesh);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(tables) = read(bytes, "t.fdbs", &MESH) {
        let text = write(&tables, &MESH, RowKeys::Names, "t.fdbs").expect("ports below 255");
        assert_eq!(read(text.as_bytes(), "t.fdbs", &MESH).expect("it was written"), tables);
    }
});
