use super::Problem;
use crate::Routing;

/// Largest weight.
const MOST_WEIGHT: u32 = 1000;

/// Largest threshold, in packets.
const MOST_PACKETS: f64 = 1e6;

pub(super) fn check(routing: &Routing) -> Result<(), Problem> {
    for (key, packets) in [("routing.threshold", routing.threshold), ("routing.congested", routing.congested)]
    {
        if let Some(packets) = packets.filter(|packets| !(0.0..=MOST_PACKETS).contains(packets)) {
            let message =
                format!("{packets} is not allowed: give a number of packets from 0 to {MOST_PACKETS}");
            return Err((key, message));
        }
    }
    for (key, part) in [("routing.trigger", routing.trigger), ("routing.ratio", routing.ratio)] {
        if let Some(part) = part.filter(|part| !(0.0..=1.0).contains(part)) {
            return Err((key, format!("{part} is not allowed: give a number from 0 to 1")));
        }
    }
    if let Some(weight) = routing.weights.iter().flatten().find(|weight| !(1..=MOST_WEIGHT).contains(*weight))
    {
        let message = format!("{weight} is not allowed: give two whole numbers from 1 to {MOST_WEIGHT}");
        return Err(("routing.weights", message));
    }
    if routing.choices == Some(0) {
        return Err(("routing.choices", "0 is not allowed: give a number from 1 to 65535".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_named() {
        let wrong = |routing: Routing| check(&routing).unwrap_err();
        let none = Routing::default();
        assert_eq!(check(&none), Ok(()));
        let cases = [
            wrong(Routing { threshold: Some(-1.0), ..none.clone() }),
            wrong(Routing { congested: Some(f64::NAN), ..none.clone() }),
            wrong(Routing { trigger: Some(1.5), ..none.clone() }),
            wrong(Routing { ratio: Some(f64::INFINITY), ..none.clone() }),
            wrong(Routing { weights: Some([1, 0]), ..none.clone() }),
            wrong(Routing { weights: Some([1001, 1]), ..none.clone() }),
            wrong(Routing { choices: Some(0), ..none.clone() }),
        ];
        assert_eq!(check(&Routing { weights: Some([1, 1000]), choices: Some(1), ..none }), Ok(()));
        let keys = [
            "routing.threshold",
            "routing.congested",
            "routing.trigger",
            "routing.ratio",
            "routing.weights",
            "routing.weights",
            "routing.choices",
        ];
        assert_eq!(cases.map(|(key, _)| key), keys);
    }
}
