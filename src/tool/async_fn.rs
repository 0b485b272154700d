//! The traits of handlers: async functions that borrow their context, and perhaps a connection, as
//! long as they run.
//!
//! The traits are implemented for functions and closures. They state what `AsyncFn` cannot express
//! yet: that the future may move from thread to thread. An async closure that borrows a captured
//! value is therefore refused. Pass a method to [`with`](super::with) instead.

use std::future::Future;

use madang_actors::port::{ToolContext, ToolResult};
use serde::Serialize;

/// An async function of one value and the context, such as
/// `async fn(A, &ToolContext) -> ToolResult<T>`.
pub trait AsyncFn1<'a, X>: Send + Sync {
    /// The data of a success.
    type Data: Serialize + 'static;
    /// The future that the function returns.
    type Future: Future<Output = ToolResult<Self::Data>> + Send + 'a;
    /// Calls the function.
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

/// An async function of two values and the context, such as
/// `async fn(A, &mut C, &ToolContext) -> ToolResult<T>`.
pub trait AsyncFn2<'a, X, Y>: Send + Sync {
    /// The data of a success.
    type Data: Serialize + 'static;
    /// The future that the function returns.
    type Future: Future<Output = ToolResult<Self::Data>> + Send + 'a;
    /// Calls the function.
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

/// An async function of three values and the context, such as
/// `async fn(&S, A, &mut C, &ToolContext) -> ToolResult<T>`.
pub trait AsyncFn3<'a, X, Y, Z>: Send + Sync {
    /// The data of a success.
    type Data: Serialize + 'static;
    /// The future that the function returns.
    type Future: Future<Output = ToolResult<Self::Data>> + Send + 'a;
    /// Calls the function.
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

/// An async function for slow work before the transaction is taken:
/// `async fn(&A, &ToolContext) -> ToolResult<P>`.
pub trait PrepareFn<'a, A: 'a, P>: Send + Sync {
    /// The future that the function returns.
    type Future: Future<Output = ToolResult<P>> + Send + 'a;
    /// Calls the function.
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
