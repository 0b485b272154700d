//! What a handler may look like: an async function that borrows its context, and perhaps a connection, as long as it runs.
//!
//! The traits are implemented for functions and closures only. They say what `AsyncFn` cannot say yet: that the future
//! may go from thread to thread. So an async closure that borrows what it captured is refused; give a method to
//! [`with`](super::with) instead.

use std::future::Future;

use madang_actors::port::{ToolContext, ToolResult};
use serde::Serialize;

/// An async function of one thing and the context, such as `async fn(A, &ToolContext) -> ToolResult<T>`.
pub trait AsyncFn1<'a, X>: Send + Sync {
    /// What it gives.
    type Data: Serialize + 'static;
    /// Its future.
    type Future: Future<Output = ToolResult<Self::Data>> + Send + 'a;
    /// Calls it.
    fn run(&'a self, x: X, ctx: &'a ToolContext) -> Self::Future;
}

impl<'a, F, X, Fut, T> AsyncFn1<'a, X> for F
where
    F: Fn(X, &'a ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = ToolResult<T>> + Send + 'a,
    T: Serialize + 'static,
{
    type Data = T;
    type Future = Fut;
    fn run(&'a self, x: X, ctx: &'a ToolContext) -> Fut {
        self(x, ctx)
    }
}

/// An async function of two things and the context, such as `async fn(A, &mut C, &ToolContext) -> ToolResult<T>`.
pub trait AsyncFn2<'a, X, Y>: Send + Sync {
    /// What it gives.
    type Data: Serialize + 'static;
    /// Its future.
    type Future: Future<Output = ToolResult<Self::Data>> + Send + 'a;
    /// Calls it.
    fn run(&'a self, x: X, y: Y, ctx: &'a ToolContext) -> Self::Future;
}

impl<'a, F, X, Y, Fut, T> AsyncFn2<'a, X, Y> for F
where
    F: Fn(X, Y, &'a ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = ToolResult<T>> + Send + 'a,
    T: Serialize + 'static,
{
    type Data = T;
    type Future = Fut;
    fn run(&'a self, x: X, y: Y, ctx: &'a ToolContext) -> Fut {
        self(x, y, ctx)
    }
}

/// An async function of three things and the context, such as
/// `async fn(&S, A, &mut C, &ToolContext) -> ToolResult<T>`.
pub trait AsyncFn3<'a, X, Y, Z>: Send + Sync {
    /// What it gives.
    type Data: Serialize + 'static;
    /// Its future.
    type Future: Future<Output = ToolResult<Self::Data>> + Send + 'a;
    /// Calls it.
    fn run(&self, x: X, y: Y, z: Z, ctx: &'a ToolContext) -> Self::Future;
}

impl<'a, F, X, Y, Z, Fut, T> AsyncFn3<'a, X, Y, Z> for F
where
    F: Fn(X, Y, Z, &'a ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = ToolResult<T>> + Send + 'a,
    T: Serialize + 'static,
{
    type Data = T;
    type Future = Fut;
    fn run(&self, x: X, y: Y, z: Z, ctx: &'a ToolContext) -> Fut {
        self(x, y, z, ctx)
    }
}

/// `async fn(&A, &ToolContext) -> ToolResult<P>`: slow work before the transaction is taken.
pub trait PrepareFn<'a, A: 'a, P>: Send + Sync {
    /// Its future.
    type Future: Future<Output = ToolResult<P>> + Send + 'a;
    /// Calls it.
    fn run(&self, arguments: &'a A, ctx: &'a ToolContext) -> Self::Future;
}

impl<'a, F, A: 'a, P, Fut> PrepareFn<'a, A, P> for F
where
    F: Fn(&'a A, &'a ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = ToolResult<P>> + Send + 'a,
{
    type Future = Fut;
    fn run(&self, arguments: &'a A, ctx: &'a ToolContext) -> Fut {
        self(arguments, ctx)
    }
}
