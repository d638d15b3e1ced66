//! Calls that make workspaces.

use super::judge::*;
use super::source::Source;
use super::{MOST, MOST_BYTES, Plan, Space, World, one};
use fzgm::capi::*;
use std::ptr;

impl World {
    /// The size of a workspace of a plan.
    pub(super) fn workspace_bytes(&mut self, plan: *const fz_plan) -> u64 {
        let place = Place::new();
        let status = unsafe { fz_workspace_bytes(plan, place.pointer()) };
        self.judge.ok("fz_workspace_bytes", status);
        place.take(true)
    }

    pub(super) fn workspace_new(&mut self, source: &mut Source) {
        let Some(p) = one(&self.plans, source) else { return };
        let Plan { handle, id, .. } = self.plans[p];
        if self.workspace_bytes(handle) > MOST_BYTES {
            return;
        }
        let (mistake, mut wrong) = (source.mistake(3), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let given = if mistake == 3 { (ptr::null(), wrong.push(NULL)).0 } else { handle.cast_const() };
        let status = unsafe { fz_workspace_new(given, place.pointer()) };
        let done = self.judge.call("fz_workspace_new", status, &wrong, &[OK]);
        self.space(&place, done, id, None);
    }

    pub(super) fn workspace_from_buffer(&mut self, source: &mut Source) {
        let Some(p) = one(&self.plans, source) else { return };
        let Plan { handle, id, .. } = self.plans[p];
        let need = self.workspace_bytes(handle);
        if need > MOST_BYTES {
            return;
        }
        let (mistake, mut wrong) = (source.mistake(6), vec![]);
        let more = if source.rarely(4) { u64::from(source.byte()) } else { 0 };
        let mut memory = Bytes::new((need + more) as usize, source.byte());
        let (mut buffer, mut bytes, mut plan) = (memory.pointer(), memory.len(), handle.cast_const());
        let mut place = Place::or(mistake, &mut wrong);
        match mistake {
            3 => (plan, _) = (ptr::null(), wrong.push(NULL)),
            4 => (buffer, _) = (ptr::null_mut(), wrong.push(NULL)),
            // The result would lie in the buffer.
            5 if bytes >= 16 => {
                let inside = (buffer as usize).next_multiple_of(8);
                (place, _) = (Place::at(inside as *const u8), wrong.push(ARGUMENT));
            }
            6 if need > 0 => (bytes, _) = (u64::from(source.byte()) % need, wrong.push(ARGUMENT)),
            _ => {}
        }
        let status = unsafe { fz_workspace_from_buffer(plan, buffer, bytes, place.pointer()) };
        let done = self.judge.call("fz_workspace_from_buffer", status, &wrong, &[OK]);
        assert!(done || memory.keeps_to(0), "a workspace that is refused writes into its buffer");
        self.space(&place, done, id, Some(memory));
    }

    fn space(&mut self, place: &Place, done: bool, plan: u64, memory: Option<Bytes>) {
        let handle = place.take(done) as usize as *mut fz_workspace;
        if done {
            self.spaces.push(Space { handle, plan, memory });
            if self.spaces.len() > MOST {
                self.free_space(0);
            }
        }
    }

    fn free_space(&mut self, index: usize) {
        let space = self.spaces.remove(index);
        unsafe { fz_workspace_free(space.handle) };
        let kept = space.memory.is_none_or(|m| m.keeps_to(m.len() as usize));
        assert!(kept, "something around the buffer of a workspace is written");
    }

    pub(super) fn free_workspace(&mut self, source: &mut Source) {
        match one(&self.spaces, source) {
            Some(space) => self.free_space(space),
            None => unsafe { fz_workspace_free(ptr::null_mut()) },
        }
    }

    /// A workspace for a call with this plan: none, its own, or with a mistake that of another plan.
    pub(super) fn space_for(
        &mut self,
        plan: Option<u64>,
        source: &mut Source,
        wrong: &mut Vec<i32>,
    ) -> Chosen {
        if source.rarely(16) {
            // Those whose plan is gone may be freed and nothing else.
            let live = |s: &&Space| Some(s.plan) != plan && self.plans.iter().any(|p| p.id == s.plan);
            if let Some(other) = self.spaces.iter().find(live) {
                wrong.push(MISMATCH);
                return Chosen { handle: other.handle, memory: None };
            }
        }
        let own = self.spaces.iter_mut().rev().find(|s| Some(s.plan) == plan).filter(|_| !source.rarely(3));
        let Some(own) = own else { return Chosen { handle: ptr::null_mut(), memory: None } };
        Chosen { handle: own.handle, memory: own.memory.as_mut().map(|m| (m.pointer(), m.len())) }
    }
}

/// A workspace for a call, and the memory of ours in which it lies.
pub(super) struct Chosen {
    pub(super) handle: *mut fz_workspace,
    memory: Option<(*mut u8, u64)>,
}

impl Chosen {
    /// Outlier lists cannot grow in it.
    pub(super) fn is_tight(&self) -> bool {
        self.memory.is_some()
    }

    /// Sometimes, memory of the workspace in place of `bytes` bytes of the call.
    pub(super) fn stray(&self, bytes: u64, source: &mut Source, wrong: &mut Vec<i32>) -> Option<*mut u8> {
        let (memory, _) = self.memory.filter(|(_, len)| bytes > 0 && *len >= bytes)?;
        let stray = source.rarely(12);
        wrong.extend(stray.then_some(ARGUMENT));
        stray.then_some(memory)
    }
}
