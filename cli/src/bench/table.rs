//! The lines of a benchmark as comma-separated values.

use crate::failure::Failure;
use serde_json::Value;

/// What says which line it is comes first; then everything else by name.
const FIRST: [&str; 7] = ["preset", "pipeline", "mode", "eb", "value_base", "threads", "ratio"];

pub(super) fn csv(rows: &[Value]) -> Result<String, Failure> {
    let Some(Value::Object(keys)) = rows.first() else { return Ok(String::new()) };
    let known = FIRST.iter().copied().filter(|key| keys.contains_key(*key));
    let others = keys.keys().map(String::as_str).filter(|key| !FIRST.contains(key));
    let columns: Vec<&str> = known.chain(others).collect();
    let mut table = csv::Writer::from_writer(vec![]);
    let failed = |e: csv::Error| Failure::output(format!("no table can be made: {e}"));
    table.write_record(&columns).map_err(failed)?;
    for row in rows {
        table.write_record(columns.iter().map(|key| cell(&row[*key]))).map_err(failed)?;
    }
    let bytes = table.into_inner().map_err(|e| failed(e.into_error().into()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Nothing for null.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::csv;
    use serde_json::json;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let rows = [
            json!({ "a": 1.5, "ratio": 2, "pipeline": "quantizer(eb=1,mode=\"noa\") > rze" }),
            json!({ "a": "inf", "ratio": 3, "pipeline": null }),
        ];
        let want = "pipeline,ratio,a\n\"quantizer(eb=1,mode=\"\"noa\"\") > rze\",2,1.5\n,3,inf\n";
        assert_eq!(csv(&rows).map_err(|f| f.message), Ok(want.into()));
        assert_eq!(csv(&[]).map_err(|f| f.message), Ok(String::new()));
    }
}
