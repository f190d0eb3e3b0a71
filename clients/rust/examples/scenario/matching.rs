//! What `expect` means.

use serde_json::Value;

use crate::Failure;

pub(crate) fn check_stream(expected: &[Value], answers: &[Value]) -> Result<(), Failure> {
    let mut rest = answers.iter();
    for each in expected {
        if !rest.any(|answer| matches(each, answer)) {
            return Err(format!("{each} did not come, in that order, in {answers:?}").into());
        }
    }
    Ok(())
}

pub(crate) fn check(expected: &Value, answer: &Value) -> Result<(), Failure> {
    if matches(expected, answer) {
        Ok(())
    } else {
        Err(format!("expected {expected}, got {answer}").into())
    }
}

pub(crate) fn matches(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(_)) => {
            expected.iter().all(|(key, value)| matches(value, actual.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(expected), Value::Array(list)) => {
            expected.len() <= list.len() && expected.iter().zip(list).all(|(each, value)| matches(each, value))
        }
        (Value::Number(expected), Value::Number(actual)) => expected.as_f64() == actual.as_f64(),
        (Value::String(any), actual) if any == "*" => !actual.is_null(),
        _ => expected == actual,
    }
}

pub(crate) fn text(given: &Value, key: &str) -> String {
    given[key].as_str().unwrap_or_default().into()
}
