//! Training steps: what does not depend on the number of ranks.

use super::Found;
use crate::{Experiment, LARGEST_MESSAGE, Program, Training};

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    for (number, job) in experiment.jobs.iter().enumerate() {
        if let Program::Training(training) = &job.program {
            step(training).map_err(|(key, text)| (format!("jobs.{number}.program.training.{key}"), text))?;
        }
    }
    Ok(())
}

fn step(of: &Training) -> Result<(), (&'static str, String)> {
    let Training { layers, pipeline, buckets, expert, .. } = *of;
    if !layers.is_multiple_of(pipeline) {
        return Err(("layers", format!("{layers} layers are no multiple of `pipeline`, {pipeline} stages")));
    }
    if buckets > layers / pipeline {
        let most = layers / pipeline;
        return Err((
            "buckets",
            format!("{buckets} is not allowed: a stage has {most} layers, so give 1 to {most}"),
        ));
    }
    let largest = LARGEST_MESSAGE.get();
    if of.activations() > u128::from(largest) {
        return Err((
            "tokens",
            format!("the values of {} tokens are more than {LARGEST_MESSAGE}", of.tokens),
        ));
    }
    if of.gradient_bytes(of.parameters) > u128::from(largest) {
        let text = format!("{} gradients are more than {LARGEST_MESSAGE}", of.parameters);
        return Err(("parameters", text));
    }
    let Some(experts) = &of.experts else {
        let text =
            format!("{expert} ranks in an expert group need `experts`: give it, or leave `expert` out");
        return if expert > 1 { Err(("expert", text)) } else { Ok(()) };
    };
    if experts.parameters >= of.parameters {
        let text = format!(
            "{} is not allowed: experts have less than all {} parameters of the model",
            experts.parameters, of.parameters
        );
        return Err(("experts.parameters", text));
    }
    if !experts.count.is_multiple_of(expert) {
        let text = format!("{} experts are no multiple of `expert`, {expert} ranks", experts.count);
        return Err(("experts.count", text));
    }
    if experts.per_token > experts.count {
        let text = format!("{} is not allowed: give 1 to `count`, {}", experts.per_token, experts.count);
        return Err(("experts.per_token", text));
    }
    if experts.imbalance > f64::from(expert) {
        let text = format!("{} is not allowed: give 1 to `expert`, {expert} ranks", experts.imbalance);
        return Err(("experts.imbalance", text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::read;

    fn message(more: &str) -> Result<crate::Experiment, String> {
        let text = format!(
            "topology.single-switch = {{ hosts = 8 }}\nrun.duration = \"1 s\"\n[[jobs]]\nprogram.training = {{ parameters = \
             8000, hidden = 4, tokens = 10, flops = 1e9, layers = 8, {more} }}\n"
        );
        let experiment = read(&text, "a.toml", &[]).map_err(|error| error.to_string())?;
        crate::check(&experiment, "a.toml").map_err(|error| error.to_string())?;
        Ok(experiment)
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        for (more, expected) in [
            ("pipeline = 3", "program.training.layers: 8 layers are no multiple of `pipeline`, 3 stages"),
            ("pipeline = 2, buckets = 5", "training.buckets: 5 is not allowed: a stage has 4 layers"),
            ("expert = 2", "training.expert: 2 ranks in an expert group need `experts`"),
            ("experts = { count = 4, parameters = 8000 }", "experts.parameters: 8000 is not allowed"),
            (
                "expert = 2, experts = { count = 5, parameters = 80 }",
                "5 experts are no multiple of `expert`, 2 ranks",
            ),
            (
                "experts = { count = 1, parameters = 80 }",
                "experts.per_token: 2 is not allowed: give 1 to `count`, 1",
            ),
            (
                "expert = 2, experts = { count = 4, parameters = 80, imbalance = 3.0 }",
                "experts.imbalance: 3 is not allowed: give 1 to `expert`, 2 ranks",
            ),
            ("micro_batches = 0", "micro_batches: 0 is not allowed"),
            ("flop = 1", "unknown field `flop`"),
        ] {
            let error = message(more).unwrap_err();
            assert!(error.contains(expected), "{more}: {error}");
        }
    }

    /// 2 x 10 tokens x 8000 parameters / 2 ranks / 1e9 per second = 80 us forward, 160 us backward; 4 layers a stage.
    #[test]
    fn a_training_step_is_the_sequence_of_its_sizes() {
        let experiment = message("tensor = 2, pipeline = 2, buckets = 2, micro_batches = 3").unwrap();
        let sequence = experiment.jobs[0].program.clone().into_operation().unwrap_err();
        let text = toml::to_string(&sequence).unwrap();
        let batches = sequence.micro_batches.unwrap();
        let total = |phases: &[crate::Phase]| {
            phases.iter().map(|of| of.compute.0 * u64::from(of.repeat)).sum::<u64>()
        };
        // In ps, of the stage's half of the layers.
        assert_eq!((total(&batches.forward), total(&batches.backward)), (40_000_000, 80_000_000));
        assert_eq!((total(&batches.last_backward), batches.last_backward.len()), (80_000_000, 4));
        // 10 tokens of 4 values of 2 bytes, by 2 ranks.
        assert_eq!((batches.count, batches.message.get()), (3, 40));
        // 8000 gradients of 2 bytes, of 4 ranks, in 2 buckets.
        assert!(text.contains("message = \"2000 B\"") && text.contains("message = \"80 B\""), "{text}");
        assert!(sequence.phases.is_empty());
        // The text is a job whose program is the sequence.
        let text = crate::expanded_jobs(&experiment.jobs).unwrap();
        let head = "topology.single-switch = { hosts = 8 }\nrun.duration = \"1 s\"\n";
        let again = read(&format!("{head}{text}"), "a.toml", &[]).unwrap();
        let expanded = again.jobs[0].program.clone().into_operation().unwrap_err();
        assert_eq!(expanded.micro_batches.unwrap(), batches);
        assert!(crate::expanded_jobs(&again.jobs).is_none());
    }

    #[test]
    fn experts_exchange_tokens_in_each_layer() {
        let experts = "expert = 2, experts = { count = 4, parameters = 4000, imbalance = 1.5 }";
        let sequence = message(experts).unwrap().jobs[0].program.clone().into_operation().unwrap_err();
        let batches = sequence.micro_batches.unwrap();
        let total = |phases: &[crate::Phase]| phases.iter().map(|of| of.compute.0).sum::<u64>();
        // 2 x 10 x 4000 / 1e9 s, and of experts half the parameters, 1.5 times as long.
        assert_eq!(total(&batches.forward), 80_000_000 + 60_000_000);
        assert_eq!((batches.forward.len(), sequence.phases.len()), (8 * 4, 2));
        let hot: Vec<u32> = batches
            .forward
            .iter()
            .filter_map(|phase| match &phase.operation {
                Some(crate::Operation::AllToAllV(of)) => Some(of.hot),
                _ => None,
            })
            .collect();
        assert_eq!(hot[..4], [0, 0, 1, 1]);
    }
}
