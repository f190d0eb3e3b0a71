//! The connection that carries calls, as their stubs take it.

use std::fmt;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http_body::Frame;
use tokio::time::{sleep_until, Instant, Sleep};
use tonic::body::Body;
use tonic::codegen::{http, BoxFuture, Bytes, Service};
use tonic::transport::{Channel, Error};
use tonic::Status;

use crate::link::{Link, Reached};
use crate::problem::unbroken;

/// Carried by a request: when a stream of answers ends. tonic itself sees to the time until it begins, and the sidecar to the
/// rest, which it cannot while it is away.
#[derive(Clone, Copy)]
pub(crate) struct Ends(pub Instant);

/// Another one is made whenever the sidecar has gone or is back: the one of before may be broken without having said so.
/// Calls in progress stay on theirs. What comes of the sidecar on it is heard.
#[derive(Clone)]
pub(crate) struct Connection {
    link: Arc<Link>,
    made: Arc<Mutex<Option<(Reached, Channel)>>>,
}

impl Connection {
    pub fn new(link: Arc<Link>) -> Self {
        Self { link, made: Arc::default() }
    }

    fn channel(&self) -> Channel {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.link.reached();
        if let Some((_, channel)) = made.as_ref().filter(|(then, _)| *then == now) {
            return channel.clone();
        }
        let channel = self.link.connection();
        *made = Some((now, channel.clone()));
        channel
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Service<http::Request<Body>> for Connection {
    type Response = http::Response<Answer>;
    type Error = Error;
    type Future = BoxFuture<Self::Response, Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // Waited for with the call: by then the connection may be another one.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let (link, mut channel) = (self.link.clone(), self.channel());
        let ends = request.extensions().get().map(|Ends(at)| *at);
        Box::pin(async move {
            poll_fn(|context| channel.poll_ready(context)).await?;
            let answer = channel.call(request).await?;
            if is_own(answer.headers()) {
                link.heard();
            }
            let ends = ends.map(|at| Box::pin(sleep_until(at)));
            Ok(answer.map(|body| Answer { body, link, ends }))
        })
    }
}

/// What comes of a call.
pub(crate) struct Answer {
    body: Body,
    link: Arc<Link>,
    ends: Option<Pin<Box<Sleep>>>,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            let ends = self.ends.as_mut().map_or(Poll::Pending, |ends| ends.as_mut().poll(context));
            return ends.map(|()| Some(Err(Status::deadline_exceeded("the deadline has passed"))));
        };
        if let Some(Ok(frame)) = &frame {
            if frame.is_data() || frame.trailers_ref().is_some_and(is_own) {
                self.link.heard();
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(unbroken)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// Whether it is the sidecar's own word on a call, which has a reason, and not that of something between.
fn is_own(trailers: &http::HeaderMap) -> bool {
    trailers.contains_key(Status::GRPC_STATUS_DETAILS)
}
