//! Who may start now, and who never will: a pure state machine over the graph.

use crate::graph::Graph;
use crate::status::{Skip, Status};

/// The state of a run of steps. The same answers in the same order give the same decisions.
#[derive(Clone, Debug)]
pub struct Schedule {
    graph: Graph,
    states: Vec<State>,
    /// Steps that want to be asked also when what they wait for failed.
    undaunted: Vec<bool>,
    at_once_max: usize,
    stopped: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Ended(Status),
}

/// What happens next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// This one starts, or is asked whether its condition holds.
    Start(usize),
    /// This one will not run.
    Skip(usize, Status),
}

impl Schedule {
    /// Nothing has begun.
    pub fn new(graph: Graph, undaunted: Vec<bool>, at_once_max: usize) -> Self {
        let states = vec![State::Waiting; graph.nodes.len()];
        Self { graph, states, undaunted, at_once_max: at_once_max.max(1), stopped: false }
    }

    /// The next decision, or nothing until somebody has ended.
    pub fn decide(&mut self) -> Option<Decision> {
        let running = self.states.iter().filter(|state| **state == State::Running).count();
        for place in 0..self.states.len() {
            if self.states[place] != State::Waiting {
                continue;
            }
            let skip = if self.stopped {
                Skip::Stopped
            } else {
                match self.blocked(place) {
                    // Somebody that it waits for has not ended.
                    None => continue,
                    Some(blocking) if blocking.is_empty() || self.undaunted[place] => {
                        if running >= self.at_once_max {
                            continue;
                        }
                        self.states[place] = State::Running;
                        return Some(Decision::Start(place));
                    }
                    Some(blocking) => Skip::Dependency(blocking),
                }
            };
            let status = Status::Skipped(skip);
            self.states[place] = State::Ended(status.clone());
            return Some(Decision::Skip(place, status));
        }
        None
    }

    /// Who keeps a step from running, each with how it ended; nothing yet while one that it waits for has not ended.
    fn blocked(&self, place: usize) -> Option<Vec<(String, &'static str)>> {
        let mut blocking = Vec::new();
        for group in &self.graph.nodes[place].waits_for {
            let mut ended = Vec::new();
            for before in group {
                match &self.states[*before] {
                    State::Ended(status) => ended.push((&self.graph.nodes[*before], status)),
                    State::Waiting | State::Running => return None,
                }
            }
            if !ended.iter().any(|(node, status)| status.lets(node.continues)) {
                blocking.extend(ended.iter().map(|(node, status)| (node.name.clone(), status.name())));
            }
        }
        Some(blocking)
    }

    /// A step that had started has ended.
    pub fn ended(&mut self, place: usize, status: Status) {
        self.states[place] = State::Ended(status);
    }

    /// Nothing new starts.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether everybody has ended.
    pub fn is_done(&self) -> bool {
        self.states.iter().all(|state| matches!(state, State::Ended(_)))
    }

    /// How everybody ended, as far as they have.
    pub fn statuses(&self) -> impl Iterator<Item = (&str, &Status)> {
        self.graph.nodes.iter().zip(&self.states).filter_map(|(node, state)| match state {
            State::Ended(status) => Some((node.name.as_str(), status)),
            State::Waiting | State::Running => None,
        })
    }

    /// The steps.
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }
}

#[cfg(test)]
mod tests;
