//! Texts about one request: what it names, how long it is, which model it wants. A wrong hit
//! here benches a model for somebody's typing error, so these lists lean to the strict side.

use super::super::phrase::{List, Phrase};
use super::ECHO;
use Phrase::{Near, Order, Text};

/// D2.
pub(in crate::verdict) const RESPONSE_BINDING: List = List {
    id: "D2",
    about: "another account's response",
    any: &[Text("previous_response_id does not belong")],
    unless: &[],
};

/// P2, FC-080: a thing of the request is missing, not a model.
pub(in crate::verdict) const RESOURCE: List = List {
    id: "P2",
    about: "a file, item, response, vector store or upload is missing",
    any: &[
        Near(
            80,
            &[
                "|file|",
                "|files|",
                "|item|",
                "|response|",
                "vector store",
                "vector_store",
                "|upload|",
                "previous_response",
            ],
            MISSING,
        ),
        Text("previous_response_not_found"),
        Text("file_not_found"),
    ],
    unless: &[Order(40, &[&["|model|"], MISSING])],
};

const MISSING: &[&str] = &["not found", "not_found", "no such", "does not exist", "could not be found"];

/// S4.
pub(in crate::verdict) const RETIRED: List = List {
    id: "S4",
    about: "the model is retired",
    any: &[
        Text("no longer available"),
        Text("no longer supported"),
        Order(1, &[&["has reached"], &["its", "the"], &["end of life"]]),
        Near(40, &["|model"], &["deprecated", "retired", "discontinued", "decommissioned"]),
    ],
    unless: &[],
};

/// S4 on a status of content, where a parameter may be what is no longer supported: the
/// sentence has to begin with the model (decision 8).
pub(in crate::verdict) const RETIRED_IN_CONTENT: List = List {
    id: "S4c",
    about: "the model is retired, by a status of content",
    any: &[Order(
        80,
        &[
            &["|model|"],
            &[
                "no longer available",
                "no longer supported",
                "end of life",
                "|retired",
                "discontinued",
                "decommissioned",
                "has been deprecated",
                "is deprecated",
            ],
        ],
    )],
    unless: &[Text("parameter"), Text("argument"), Text("no longer supported by this model"), ECHO],
};

/// 3.2.5.
pub(in crate::verdict) const OVERFLOW: List = List {
    id: "3.2.5o",
    about: "too long for this model",
    any: &[
        Text("input is too long"),
        Text("input too long"),
        Order(80, &[&["context"], &["too long", "exceed", "overflow", "|limit"]]),
        Text("too many tokens"),
        Text("prompt is too long"),
        Text("context window"),
        Text("maximum context"),
        Order(20, &[&["|max"], &["token"]]),
        Text("token limit"),
        Text("request too large"),
    ],
    unless: &[Text("unsupported parameter"), Text("unsupported_parameter"), ECHO],
};

/// 3.2.5.
pub(in crate::verdict) const PARAMETER: List = List {
    id: "3.2.5p",
    about: "a parameter out of this model's range",
    any: &[
        Order(80, &[&["max_tokens"], &["illegal", "must be", "range"]]),
        Text("parameter is illegal"),
        Order(80, &[&["is illegal"], &["range"]]),
    ],
    unless: &[ECHO],
};

/// 3.2.6: the provider does not serve it, for none of its accounts.
pub(in crate::verdict) const MODEL_UNKNOWN: List = List {
    id: "3.2.6",
    about: "the provider does not serve the model",
    any: &[
        Order(2, &[&["|invalid model|"], &["name", "id", ":", "'", "\"", "`", "provided", "specified"]]),
        Order(80, &[&["|model|"], &["does not exist", "was not found", "not found", "doesn't exist"]]),
        Text("|unknown model|"),
        Text("no such model"),
    ],
    unless: &[Text("invalid model output"), RESOURCE_WORDS, ECHO],
};

/// "The model cannot read file x: not found" is about the file.
const RESOURCE_WORDS: Phrase =
    Near(40, &["|file|", "|image|", "|tool|", "|url|"], &["not found", "does not exist"]);

/// FC-081: served, but not now or not here.
pub(in crate::verdict) const MODEL_UNAVAILABLE: List = List {
    id: "FC-081",
    about: "the model is unavailable",
    any: &[
        Order(
            40,
            &[&["|model|"], &["is unavailable", "is currently unavailable", "is temporarily unavailable"]],
        ),
        Order(60, &[&["|model|"], &["not available", "not currently available"]]),
        Order(120, &[&["|function"], &["degraded"]]),
    ],
    unless: &[Text("parameter"), RESOURCE_WORDS, ECHO],
};

/// 3.2.5: this request's model, but not for this account or not with this request.
pub(in crate::verdict) const MODEL_ACCESS: List = List {
    id: "3.2.5a",
    about: "no access to the model",
    any: &[
        Order(60, &[&["|model|"], &["not supported", "not accessible", "isn't supported"]]),
        Near(80, &["|model|"], &["does not support", "unsupported"]),
        Near(60, &["|model|"], &["access denied"]),
        Text("please select a different model"),
        Near(60, &["|access|", "|permission"], &["|model"]),
    ],
    unless: &[
        Text("unsupported parameter"),
        Text("unsupported_parameter"),
        Text("unsupported value"),
        Text("unsupported_value"),
        ECHO,
    ],
};

/// The forms of access and permission: another account may be let in (core 3.2.6).
pub(in crate::verdict) const ACCESS_FORM: List = List {
    id: "3.2.6x",
    about: "an account's right to the model",
    any: &[Near(60, &["|access|", "|permission"], &["|model", "|it|"]), Text("access denied")],
    unless: &[],
};

/// 3.9.4: a 401 that is not about the key.
pub(in crate::verdict) const MODEL_NOT_FOR_KEY: List = List {
    id: "3.9.4m",
    about: "the model is not supported, says a 401",
    any: &[Order(80, &[&["|model|"], &["is not supported"]])],
    unless: &[Text("api key"), Text("api_key")],
};

/// 3.2.5: what voids every model text.
pub(in crate::verdict) const BAD_CREDENTIAL: List = List {
    id: "3.2.5c",
    about: "a bad credential",
    any: &[
        Near(
            20,
            &["|invalid", "incorrect", "expired", "missing", "revoked"],
            &["api key", "api_key", "|token|", "credential", "bearer"],
        ),
        Order(1, &[&["authentication"], &["failed", "error", "required"]]),
        Text("unauthorized"),
        Text("not authenticated"),
    ],
    unless: &[],
};
