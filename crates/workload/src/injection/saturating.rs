use crate::WorkloadError;
use crate::injection::InjectionInput;

/// Always one message more than can be sent, from `start` to `stop`: a message is created when it is taken, and the
/// load is 1.
pub(super) fn new(context: &InjectionInput) -> Result<f64, WorkloadError> {
    const WHY: &str = "it offers all that the link carries; leave it out, or choose another `injection`";
    let given = [("load", context.traffic.load.is_some()), ("rate", context.traffic.rate.is_some())];
    match given.into_iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(context.no_meaning(key, WHY)),
        None => Ok(1.0),
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::Time;

    use crate::testing::{hosts, nominal_load, refused, workload};

    const BASE: &str = "pattern = 'uniform'\ninjection = 'saturating'\nmessage = '1000 B'\n";

    #[test]
    fn there_is_always_one_more() {
        let mut workload = workload(&hosts(2), &format!("{BASE}start = '5 ns'\nstop = '1 ms'\nmessages = 3"));
        let source = &mut workload.sources[0];
        assert_eq!(source.next(Time::ZERO), Some(Time::ns(5)));
        assert_eq!(source.next(Time::ns(7)), Some(Time::ns(7)));
        assert_eq!(source.take(Time::ns(7)).created, Time::ns(7));
        assert_eq!(source.take(Time::ns(7)).created, Time::ns(7));
        assert_eq!(source.next(Time::ms(1)), None);
        assert_eq!(source.take(Time::us(9)).created, Time::us(9));
        assert_eq!(source.next(Time::us(9)), None);
    }

    #[test]
    fn the_load_is_one() {
        assert_eq!(nominal_load(BASE), 1.0);
        let error = refused(&hosts(2), &format!("{BASE}load = 1.0"));
        assert!(error.contains("traffic.0.load: this has no meaning with `saturating`"), "{error}");
        assert!(
            refused(&hosts(2), &format!("{BASE}rate = '1 Gb/s'"))
                .contains("traffic.0.rate: this has no meaning")
        );
    }
}
