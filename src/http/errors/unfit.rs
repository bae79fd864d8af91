//! A combo of which no target could serve the request (routing 9.2, rows C, D and E).

use policy::plan::{Lack, NoPlan};

use super::{Code, Problem, with_diagnostics};
use crate::relay::Story;

/// The error; `None`: there is another reason that there is no plan.
pub(super) fn unfit(no_plan: &NoPlan, model: &str) -> Option<Problem> {
    let (problem, pool_size, terminal) = match no_plan {
        NoPlan::ContextTooLong { pool_size, largest, input } => {
            let message =
                format!("the input has about {input} tokens; the largest window of `{model}` is {largest}");
            (Problem::new(Code::ContextLengthExceeded, message), *pool_size, "context_length_exceeded")
        }
        NoPlan::CapabilityMismatch { pool_size, lacks } => {
            let lacking: Vec<&str> = lacks.iter().map(|lack| words(*lack)).collect();
            let message = format!("no target of `{model}` can serve the request: {}", lacking.join(", "));
            let first = lacks.first().map_or("capability_mismatch", |lack| lack.as_str());
            (of_model(Code::CapabilityMismatch, message), *pool_size, first)
        }
        NoPlan::ContextRequirements { pool_size } => {
            let message = format!("no target of `{model}` has the context window that the combo asks for");
            (of_model(Code::ModelNotFound, message), *pool_size, "context_requirements_exhausted")
        }
        _ => return None,
    };
    let story = Story { combo: true, pool_size, ..Story::default() };
    Some(with_diagnostics(problem, &story, Some(terminal)))
}

fn of_model(code: Code, message: String) -> Problem {
    let mut problem = Problem::new(code, message);
    problem.facts.param = Some("model".into());
    problem
}

fn words(lack: Lack) -> &'static str {
    match lack {
        Lack::Tools => "no tools",
        Lack::Vision => "no pictures",
        Lack::Structured => "no answers after a schema",
        Lack::Window => "a window that is too small",
    }
}
