//! `/api/keys` and what keys are held to (routing 10.5, contract 2, 7, 8), with the real process.

//LIM
//LIM2
#[path = "keys/manage.rs"]
mod manage;
mod process;
//REST
//REST2
#[path = "keys/stage.rs"]
mod stage;
