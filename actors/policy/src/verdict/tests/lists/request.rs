//! Samples of the texts about one request.

use super::super::super::Detector;
use super::super::super::lists::{
    ACCESS_FORM, BAD_CREDENTIAL, MODEL_ACCESS, MODEL_NOT_FOR_KEY, MODEL_UNAVAILABLE, MODEL_UNKNOWN, OVERFLOW,
    PARAMETER, RESOURCE, RESPONSE_BINDING, RETIRED, RETIRED_IN_CONTENT,
};
use super::Samples;
use crate::ids::Class::{Apikey, Oauth};

pub(super) const SAMPLES: &[Samples] = &[
    Samples {
        list: &RESPONSE_BINDING,
        hits: &[&["previous_response_id does not belong to you"]],
        vetoed: &[],
        misses: &["previous_response_id is unknown"],
        row: Some((409, Apikey, Detector::ResponseBinding)),
    },
    Samples {
        list: &RESOURCE,
        hits: &[
            &[
                r#"{"error":{"message":"Files [file-abc] were not found"}}"#,
                "No such File object: file-abc",
                "Item 'rs_1' does not exist",
                "Response with id resp_1 not found.",
                "Vector store vs_1 could not be found",
                "vector_store not_found",
                "upload upload_1 not found",
                "previous_response resp_1 not found",
            ],
            &[r#"{"error":{"code":"previous_response_not_found"}}"#],
            &[r#"{"error":{"code":"file_not_found"}}"#],
        ],
        vetoed: &["The model `file-expert` does not exist; no such file"],
        misses: &["Not Found", "model m does not exist", "profile not found", "the file is too large"],
        row: Some((404, Apikey, Detector::ResourceMissing)),
    },
    Samples {
        list: &RETIRED,
        hits: &[
            &["This model is no longer available"],
            &["no longer supported"],
            &["x has reached its end of life", "x has reached the end of life"],
            &[
                "model x was deprecated",
                "we retired that model",
                "this model is discontinued",
                "the model has been decommissioned",
            ],
        ],
        vetoed: &[],
        misses: &["available again", "a deprecated header"],
        row: Some((410, Apikey, Detector::ModelRetired)),
    },
    Samples {
        list: &RETIRED_IN_CONTENT,
        hits: &[&[
            "This model is no longer available",
            "The model x is no longer supported",
            "the model x has reached its end of life",
            "model x was retired",
            "model x is discontinued",
            "the model was decommissioned",
            "The model `gpt-0` has been deprecated",
            "model x is deprecated",
        ]],
        vetoed: &[
            "this model: parameter functions is no longer supported",
            "for this model the argument x is no longer supported",
            "The model says functions are no longer supported by this model",
            r#"{"loc":[],"input":"which model was retired"}"#,
        ],
        misses: &["functions are no longer supported", "the field is deprecated in this model"],
        row: Some((400, Apikey, Detector::ModelRetired)),
    },
    Samples {
        list: &OVERFLOW,
        hits: &[
            &["input is too long"],
            &["Input too long"],
            &[
                "the context is too long",
                "context length exceeded",
                "context overflow",
                "context_length limit",
            ],
            &["too many tokens"],
            &["prompt is too long: 210000 tokens"],
            &["fits no context window"],
            &["maximum context length is 8192"],
            &["max_tokens is too large", "maximum number of tokens"],
            &["token limit"],
            &["request too large"],
        ],
        vetoed: &[
            "Unsupported parameter: 'max_tokens'",
            r#"{"code":"unsupported_parameter","param":"max_tokens"}"#,
            r#"{"loc":[],"input":"prompt is too long"}"#,
        ],
        misses: &["missing field foo", "too long"],
        row: Some((400, Apikey, Detector::ContextOverflow)),
    },
    Samples {
        list: &PARAMETER,
        hits: &[
            &["max_tokens is illegal", "max_tokens must be at most 5", "max_tokens out of range"],
            &["parameter is illegal"],
            &["temperature is illegal, the range is 0 to 1"],
        ],
        vetoed: &[r#"{"loc":[],"input":"the parameter is illegal"}"#],
        misses: &["temperature is wrong"],
        row: None,
    },
    Samples {
        list: &MODEL_UNKNOWN,
        hits: &[
            &[
                "Invalid model name",
                "invalid model id x",
                "Invalid model: x",
                "invalid model 'x'",
                r#"invalid model "x""#,
                "invalid model `x`",
                "invalid model provided",
                "invalid model specified",
            ],
            &[
                "The model `x` does not exist",
                "model x was not found",
                "model not found",
                "the model x doesn't exist",
            ],
            &["unknown model x"],
            &["no such model"],
        ],
        vetoed: &[
            "no such model: invalid model output",
            "the model cannot open the image: image url not found",
            r#"{"loc":[],"input":"unknown model"}"#,
        ],
        misses: &["invalid model output", "the supermodel does not exist", "this model cannot do that"],
        row: Some((400, Apikey, Detector::ModelUnknown)),
    },
    Samples {
        list: &MODEL_UNAVAILABLE,
        hits: &[
            &[
                "Model is unavailable",
                "the model is currently unavailable",
                "model x is temporarily unavailable",
            ],
            &["the model x is not available", "model x is not currently available"],
            &["Function id 'f1': DEGRADED function cannot be invoked"],
        ],
        vetoed: &[
            "parameter x: the model is unavailable",
            "the model is unavailable as the file was not found",
            r#"{"loc":[],"input":"the model is unavailable"}"#,
        ],
        misses: &["the tool is unavailable", "model x is available"],
        row: Some((400, Apikey, Detector::ModelUnavailable)),
    },
    Samples {
        list: &MODEL_ACCESS,
        hits: &[
            &["model x is not supported here", "the model is not accessible", "that model isn't supported"],
            &["this model does not support images", "unsupported model x"],
            &["access denied to model x"],
            &["Please select a different model"],
            &["you have no access to the model", "no permission for model x"],
        ],
        vetoed: &[
            "Unsupported parameter: x is not supported with this model",
            r#"{"code":"unsupported_parameter","message":"model"}"#,
            "Unsupported value: x, the model does not support it",
            r#"{"code":"unsupported_value","message":"the model"}"#,
            r#"{"loc":[],"input":"please select a different model"}"#,
        ],
        misses: &["access denied", "missing field model"],
        row: Some((400, Apikey, Detector::ModelAccess)),
    },
    Samples {
        list: &ACCESS_FORM,
        hits: &[&["or you do not have access to it", "permission for the model"], &["access denied"]],
        vetoed: &[],
        misses: &["the model does not exist"],
        row: None,
    },
    Samples {
        list: &MODEL_NOT_FOR_KEY,
        hits: &[&["The model x is not supported"]],
        vetoed: &["bad API key: model x is not supported", "api_key refused, model x is not supported"],
        misses: &["Incorrect API key provided", "the key is not supported"],
        row: Some((401, Oauth, Detector::ModelNotForKey)),
    },
    Samples {
        list: &BAD_CREDENTIAL,
        hits: &[
            &[
                "invalid api key",
                "incorrect api_key",
                "expired token",
                "missing credentials",
                "the bearer was revoked",
            ],
            &["authentication failed", "authentication_error", "authentication required"],
            &["Unauthorized"],
            &["not authenticated"],
        ],
        vetoed: &[],
        misses: &["invalid model", "max_tokens is invalid", "authentic"],
        row: None,
    },
];
