//! Takes an encoding off a body (FC-055).
//!
//! We ask for none. An upstream, or something before it, that packs its answers all the same
//! is understood: rules read its errors, and clients get plain bytes under plain headers.
//! What a few bytes unfold to is handed on piece by piece and bounded as a whole, and so is
//! the memory a decoder may ask for.

use std::pin::Pin;
use std::task::{Context, Poll};

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use awc::http::header::{CONTENT_ENCODING, HeaderMap};
use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

use super::body::Broken;

/// Most bytes that one answer may unfold to.
const LONGEST: u64 = 256 * 1024 * 1024;
/// Bytes of one piece.
const PIECE: usize = 16 * 1024;
/// Largest window of zstd, as HTTP bounds it (RFC 9659): 8 MiB.
const WINDOW_LOG: u32 = 23;

/// An encoding that can be taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// How the body of an answer is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Not at all.
    Identity,
    /// Once, in a known way.
    Known(Coding),
    /// In a way that nobody here knows, or more than once.
    Unknown,
}

impl Encoding {
    /// As the headers say.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut found = Self::Identity;
        for value in headers.get_all(CONTENT_ENCODING) {
            let Ok(value) = value.to_str() else { return Self::Unknown };
            for name in value.split(',').map(str::trim) {
                let coding = match name.to_ascii_lowercase().as_str() {
                    "identity" | "" => continue,
                    "gzip" | "x-gzip" => Coding::Gzip,
                    "deflate" => Coding::Deflate,
                    "br" => Coding::Brotli,
                    "zstd" => Coding::Zstd,
                    _ => return Self::Unknown,
                };
                if found != Self::Identity {
                    return Self::Unknown;
                }
                found = Self::Known(coding);
            }
        }
        found
    }
}

/// A body without its encoding.
pub(super) struct Decoded<R> {
    decoder: Decoder<R>,
    left: u64,
    /// The decoder has all it needs.
    is_over: bool,
}

enum Decoder<R> {
    Gzip(GzipDecoder<R>),
    Deflate(ZlibDecoder<R>),
    Brotli(BrotliDecoder<R>),
    Zstd(ZstdDecoder<R>),
}

impl<R: AsyncBufRead + Unpin> Decoder<R> {
    fn new(coding: Coding, body: R) -> Self {
        match coding {
            Coding::Gzip => {
                let mut decoder = GzipDecoder::new(body);
                decoder.multiple_members(true);
                Self::Gzip(decoder)
            }
            Coding::Deflate => Self::Deflate(ZlibDecoder::new(body)),
            Coding::Brotli => Self::Brotli(BrotliDecoder::new(body)),
            Coding::Zstd => {
                let window = DParameter::window_log_max(WINDOW_LOG);
                let mut decoder = ZstdDecoder::with_params(body, &[window]);
                decoder.multiple_members(true);
                Self::Zstd(decoder)
            }
        }
    }

    fn read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        match self {
            Self::Gzip(decoder) => Pin::new(decoder).poll_read(cx, buffer),
            Self::Deflate(decoder) => Pin::new(decoder).poll_read(cx, buffer),
            Self::Brotli(decoder) => Pin::new(decoder).poll_read(cx, buffer),
            Self::Zstd(decoder) => Pin::new(decoder).poll_read(cx, buffer),
        }
    }

    fn body(&mut self) -> &mut R {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
        }
    }
}

impl<R: AsyncBufRead + Unpin> Decoded<R> {
    pub(super) fn new(coding: Coding, body: R) -> Self {
        Self { decoder: Decoder::new(coding, body), left: LONGEST, is_over: false }
    }

    /// The next piece.
    pub(super) fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if self.is_over {
            return self.end(cx);
        }
        let mut piece = vec![0; PIECE];
        let mut buffer = ReadBuf::new(&mut piece);
        match self.decoder.read(cx, &mut buffer) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(_)) => Poll::Ready(Some(Err(Broken))),
            Poll::Ready(Ok(())) => match buffer.filled().len() {
                0 => {
                    self.is_over = true;
                    self.end(cx)
                }
                count if count as u64 > self.left => Poll::Ready(Some(Err(Broken))),
                count => {
                    self.left -= count as u64;
                    piece.truncate(count);
                    Poll::Ready(Some(Ok(piece.into())))
                }
            },
        }
    }

    /// Only what has ended below as well has come whole, and leaves its connection clean.
    fn end(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        match Pin::new(self.decoder.body()).poll_fill_buf(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok([])) => Poll::Ready(None),
            Poll::Ready(Ok(_) | Err(_)) => Poll::Ready(Some(Err(Broken))),
        }
    }
}

#[cfg(test)]
mod tests;
