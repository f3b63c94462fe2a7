//! A recipe as bytes: how it reaches a child that was there first, or one that is another program.
//!
//! Reading borrows from the bytes and does not allocate: it happens between clone and exec. Both ends are the same
//! build of polder, so there is no version and no padding; what does not read whole is refused whole.

use super::recipe::{
    Access, Apart, Filtered, Finish, Ground, Hold, Identity, Inside, LandlockRule, LandlockSpec, Missing, NetNamespace,
    Observation, Root, Source, Step, Swept,
};
use super::syscalls::Observe;
use crate::command::{Command, OutputMode, Rlimit, StreamSet, Terminal, TerminalSize};
use std::ffi::{CStr, CString};
use std::marker::PhantomData;

/// The bytes of a recipe. Without a ground, the shim stands on one that somebody else built, and perhaps finishes it.
pub(crate) fn encode(ground: Option<&Ground>, finish: Option<&Finish>, inside: &Inside) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 * 1024);
    ground.put(&mut out);
    finish.put(&mut out);
    inside.put(&mut out);
    out
}

/// The bytes of a list of steps.
pub(crate) fn encode_steps(steps: &Vec<Step>) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 * 1024);
    steps.put(&mut out);
    out
}

/// A list of steps, read from its bytes.
pub(crate) fn decode_steps(bytes: &[u8]) -> Option<List<'_, Step<&CStr>>> {
    Take::take(&mut Reader { rest: bytes })
}

/// A recipe, read from its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Image<'a> {
    pub(crate) ground: Option<GroundImage<'a>>,
    pub(crate) finish: Option<FinishImage<'a>>,
    pub(crate) inside: InsideImage<'a>,
}

impl<'a> Image<'a> {
    /// Reads the bytes; `None` if they are not a whole recipe.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader { rest: bytes };
        let image = Self {
            ground: Take::take(&mut reader)?,
            finish: Take::take(&mut reader)?,
            inside: Take::take(&mut reader)?,
        };
        reader.rest.is_empty().then_some(image)
    }
}

/// [`Ground`], borrowed.
#[derive(Clone, Copy)]
pub(crate) struct GroundImage<'a> {
    pub(crate) identity: Identity,
    pub(crate) net: NetNamespace,
    pub(crate) root: Root,
    pub(crate) scratch_bytes: u64,
    pub(crate) steps: List<'a, Step<&'a CStr>>,
    pub(crate) hostname: &'a CStr,
}

/// [`Finish`], borrowed.
#[derive(Clone, Copy)]
pub(crate) struct FinishImage<'a> {
    pub(crate) apart: List<'a, Apart<&'a CStr>>,
    pub(crate) scratch_bytes: u64,
    pub(crate) steps: List<'a, Step<&'a CStr>>,
}

/// [`Inside`], borrowed.
#[derive(Clone, Copy)]
pub(crate) struct InsideImage<'a> {
    pub(crate) made: List<'a, Step<&'a CStr>>,
    pub(crate) rlimits: List<'a, Rlimit>,
    pub(crate) landlock: Option<LandlockImage<'a>>,
    pub(crate) filter: Filtered,
    pub(crate) swept: List<'a, SweptImage<'a>>,
    pub(crate) observe: Option<ObserveImage<'a>>,
    pub(crate) command: CommandImage<'a>,
}

/// [`Swept`], borrowed.
pub(crate) type SweptImage<'a> = Swept<&'a CStr, List<'a, &'a CStr>>;

/// [`Observation`], borrowed.
#[derive(Clone, Copy)]
pub(crate) struct ObserveImage<'a> {
    pub(crate) mode: Observe,
    pub(crate) shown: List<'a, &'a CStr>,
    pub(crate) alone: bool,
    pub(crate) lent: List<'a, &'a CStr>,
    pub(crate) ruled: List<'a, &'a CStr>,
}

/// [`LandlockSpec`], borrowed.
#[derive(Clone, Copy)]
pub(crate) struct LandlockImage<'a> {
    pub(crate) abi: u32,
    pub(crate) rules: List<'a, LandlockRule<&'a CStr>>,
}

/// [`Command`], borrowed.
#[derive(Clone, Copy)]
pub(crate) struct CommandImage<'a> {
    pub(crate) candidates: List<'a, &'a CStr>,
    pub(crate) argv: List<'a, &'a CStr>,
    pub(crate) env: List<'a, &'a CStr>,
    pub(crate) workdir: &'a CStr,
    pub(crate) terminal: Option<Terminal>,
}

/// Items one after the other, read anew each time somebody looks.
pub(crate) struct List<'a, T> {
    count: u32,
    bytes: &'a [u8],
    items: PhantomData<T>,
}

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

impl<'a, T: Take<'a>> List<'a, T> {
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        let mut reader = Reader { rest: self.bytes };
        (0..self.count).map(move |_| T::take(&mut reader).expect("invariant: every item was read once by `take`"))
    }
}

/// Writes itself.
trait Put {
    fn put(&self, out: &mut Vec<u8>);
}

/// Reads itself.
pub(crate) trait Take<'a>: Sized {
    fn take(from: &mut Reader<'a>) -> Option<Self>;
}

/// What is left to read.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Put for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_ne_bytes());
            }
        }

        impl<'a> Take<'a> for $type {
            fn take(from: &mut Reader<'a>) -> Option<Self> {
                Some(Self::from_ne_bytes(from.bytes(size_of::<Self>())?.try_into().ok()?))
            }
        }
    )*};
}
number!(u8, u16, u32, u64);

/// A structure: its fields in order.
macro_rules! fields {
    ($owned:ty, $borrowed:ty { $($field:ident),* } $(, $generic:ident)*) => {
        impl<$($generic: Put),*> Put for $owned {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
        }

        impl<'a> Take<'a> for $borrowed {
            fn take(from: &mut Reader<'a>) -> Option<Self> {
                Some(Self { $($field: Take::take(from)?),* })
            }
        }
    };
}
fields!(Ground, GroundImage<'a> { identity, net, root, scratch_bytes, steps, hostname });
fields!(Finish, FinishImage<'a> { apart, scratch_bytes, steps });
fields!(Apart<S>, Apart<&'a CStr> { path, number }, S);
fields!(Inside, InsideImage<'a> { made, rlimits, landlock, filter, swept, observe, command });
fields!(Observation, ObserveImage<'a> { mode, shown, alone, lent, ruled });
fields!(LandlockSpec, LandlockImage<'a> { abi, rules });
fields!(Command, CommandImage<'a> { candidates, argv, env, workdir, terminal });
fields!(Rlimit, Rlimit { resource, value });
fields!(Terminal, Terminal { size, streams, output });
fields!(TerminalSize, TerminalSize { rows, columns });
fields!(StreamSet, StreamSet { bits });
fields!(LandlockRule<S>, LandlockRule<&'a CStr> { path, access, missing }, S);
fields!(Swept<S, L>, Swept<&'a CStr, List<'a, &'a CStr>> { tree, parent, name, suffix, only_with }, S, L);

/// A choice: the number of the variant, and its fields in order.
macro_rules! variants {
    ($owned:ty, $borrowed:ty { $($number:literal = $variant:ident { $($field:ident),* }),* $(,)? } $(, $generic:ident)*) => {
        impl<$($generic: Put),*> Put for $owned {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field),* } => {
                        out.push($number);
                        $($field.put(out);)*
                    })*
                }
            }
        }

        impl<'a> Take<'a> for $borrowed {
            fn take(from: &mut Reader<'a>) -> Option<Self> {
                Some(match u8::take(from)? {
                    $($number => Self::$variant { $($field: Take::take(from)?),* },)*
                    _ => return None,
                })
            }
        }
    };
}
variants!(OutputMode, OutputMode { 0 = Processed {}, 1 = Plain {} });
variants!(Access, Access { 0 = ReadOnly {}, 1 = ReadWrite {} });
variants!(Hold, Hold { 0 = ReadOnly {}, 1 = ReadWrite {}, 2 = Hidden {} });
variants!(Missing, Missing { 0 = Fail {}, 1 = Skip {} });
variants!(Root, Root { 0 = Made {}, 1 = Found {} });
variants!(NetNamespace, NetNamespace { 0 = Own {}, 1 = Host {}, 2 = Shared {} });
variants!(Filtered, Filtered { 0 = Yes {}, 1 = No {} });
variants!(Observe, Observe { 0 = Off {}, 1 = Cheap {}, 2 = Exact {} });
variants!(Identity, Identity { 0 = Same { uid, gid }, 1 = Range { uid, gid, base, count }, 2 = HostRoot {} });
variants!(Source<S>, Source<&'a CStr> { 0 = System { path }, 1 = Resolved { path }, 2 = Private { path } }, S);
variants!(Step<S>, Step<&'a CStr> {
    0 = Directory { at, mode },
    1 = File { at, content, mode },
    3 = Symlink { target, at },
    4 = Bind { source, at, access },
    5 = ShowIfThere { from, at },
    6 = Device { from, at },
    7 = Scratch { at },
    8 = Proc { at },
    9 = Terminals { at },
    10 = Protect { at },
    11 = Pin { at },
    12 = Hide { at, missing },
    15 = Held { at, hold },
    13 = Place { from, at },
    14 = Same { at, device, inode },
    16 = Overlay { lower, upper, work, at, access },
    17 = Withdraw { at },
    18 = Remove { at },
    19 = Settle { upper, work, at },
    20 = Await {},
    21 = Copy { from, at },
    22 = Cover { from, at },
}, S);

impl Put for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl<'a> Take<'a> for bool {
    fn take(from: &mut Reader<'a>) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Put for CString {
    fn put(&self, out: &mut Vec<u8>) {
        let bytes = self.as_bytes_with_nul();
        (bytes.len() as u32).put(out);
        out.extend_from_slice(bytes);
    }
}

impl<'a> Take<'a> for &'a CStr {
    fn take(from: &mut Reader<'a>) -> Option<Self> {
        let len = u32::take(from)?;
        CStr::from_bytes_with_nul(from.bytes(len as usize)?).ok()
    }
}

impl<T: Put> Put for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.put(out);
        }
    }
}

impl<T: Put> Put for &T {
    fn put(&self, out: &mut Vec<u8>) {
        (*self).put(out);
    }
}

impl<'a, T: Take<'a>> Take<'a> for Option<T> {
    fn take(from: &mut Reader<'a>) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(None),
            1 => T::take(from).map(Some),
            _ => None,
        }
    }
}

impl<T: Put> Put for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        self.iter().for_each(|item| item.put(out));
    }
}

impl<'a, T: Take<'a>> Take<'a> for List<'a, T> {
    fn take(from: &mut Reader<'a>) -> Option<Self> {
        let count = u32::take(from)?;
        let before = from.rest;
        // Read once now, so that whoever walks the list later meets no surprise.
        for _ in 0..count {
            T::take(from)?;
        }
        let bytes = &before[..before.len() - from.rest.len()];
        Some(Self { count, bytes, items: PhantomData })
    }
}

#[cfg(test)]
mod tests;
