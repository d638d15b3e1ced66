//! The rows of a benchmark as comma-separated values.

use crate::failure::Failure;
use serde_json::Value;

/// The first columns, which identify the row. All other columns follow in alphabetical order.
const FIRST: [&str; 7] = ["preset", "pipeline", "mode", "eb", "value_base", "threads", "ratio"];

pub(super) fn csv(rows: &[Value]) -> Result<String, Failure> {
    let Some(Value::Object(keys)) = rows.first() else { return Ok(String::new()) };
    let known = FIRST.iter().copied().filter(|key| keys.contains_key(*key));
    let others = keys.keys().map(String::as_str).filter(|key| !FIRST.contains(key));
    let columns: Vec<&str> = known.chain(others).collect();
    let mut table = csv::Writer::from_writer(vec![]);
    let failed = |e: csv::Error| Failure::output(format!("cannot write the table of --csv: {e}"));
    table.write_record(&columns).map_err(failed)?;
    for row in rows {
        table.write_record(columns.iter().map(|key| cell(&row[*key]))).map_err(failed)?;
    }
    let bytes = table.into_inner().map_err(|e| failed(e.into_error().into()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of a cell; empty for null.
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
    fn cells_with_commas_are_quoted() {
        let rows = [
            json!({ "a": 1.5, "ratio": 2, "pipeline": "quantizer(eb=1,mode=\"noa\") > rze" }),
            json!({ "a": "inf", "ratio": 3, "pipeline": null }),
        ];
        let want = "pipeline,ratio,a\n\"quantizer(eb=1,mode=\"\"noa\"\") > rze\",2,1.5\n,3,inf\n";
        assert_eq!(csv(&rows).map_err(|f| f.message), Ok(want.into()));
        assert_eq!(csv(&[]).map_err(|f| f.message), Ok(String::new()));
    }
}
