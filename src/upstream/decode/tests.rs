use std::future::poll_fn;

use async_compression::tokio::write::{BrotliEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder};
use awc::http::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};
use tokio::io::AsyncWriteExt;

use super::{Broken, Coding, Decoded, Encoding};

const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

async fn packed(coding: Coding, plain: &[u8]) -> Vec<u8> {
    macro_rules! pack {
        ($encoder:ident) => {{
            let mut encoder = $encoder::new(Vec::new());
            encoder.write_all(plain).await.unwrap();
            encoder.shutdown().await.unwrap();
            encoder.into_inner()
        }};
    }
    match coding {
        Coding::Gzip => pack!(GzipEncoder),
        Coding::Deflate => pack!(ZlibEncoder),
        Coding::Brotli => pack!(BrotliEncoder),
        Coding::Zstd => pack!(ZstdEncoder),
    }
}

/// All of it, and how it ended.
async fn unpacked(coding: Coding, packed: &[u8], left: u64) -> (Vec<u8>, Result<(), Broken>) {
    let mut decoded = Decoded { left, ..Decoded::new(coding, packed) };
    let mut plain = Vec::new();
    loop {
        match poll_fn(|cx| decoded.next(cx)).await {
            Some(Ok(piece)) => plain.extend_from_slice(&piece),
            Some(Err(broken)) => return (plain, Err(broken)),
            None => return (plain, Ok(())),
        }
    }
}

fn text() -> Vec<u8> {
    (0..20_000).flat_map(|number: u32| format!("{number} ").into_bytes()).collect()
}

#[tokio::test]
async fn fc_055_each_coding_is_taken_off() {
    for coding in ALL {
        for plain in [text(), b"{}".to_vec()] {
            let packed = packed(coding, &plain).await;
            assert_eq!(unpacked(coding, &packed, u64::MAX).await, (plain, Ok(())), "{coding:?}");
        }
    }
}

#[tokio::test]
async fn fc_055_what_is_cut_or_followed_by_something_is_broken() {
    for coding in ALL {
        let whole = packed(coding, &text()).await;
        for cut in [1, 5, whole.len() / 2, whole.len() - 1] {
            let (_, end) = unpacked(coding, &whole[..cut], u64::MAX).await;
            assert_eq!(end, Err(Broken), "{coding:?} cut at {cut} of {}", whole.len());
        }
        let followed = [whole.as_slice(), b"\0\x01 something else"].concat();
        assert_eq!(unpacked(coding, &followed, u64::MAX).await.1, Err(Broken), "{coding:?}");
        assert_eq!(unpacked(coding, b"{\"plain\":true}", u64::MAX).await.1, Err(Broken), "{coding:?}");
    }
}

#[tokio::test]
async fn fc_055_what_unfolds_beyond_the_bound_is_broken() {
    let zeros = vec![0; 4 * 1024 * 1024];
    for coding in ALL {
        let bomb = packed(coding, &zeros).await;
        assert!(bomb.len() < 20_000, "{coding:?}: {} bytes", bomb.len());
        let (plain, end) = unpacked(coding, &bomb, 1024 * 1024).await;
        assert_eq!((plain.len() <= 1024 * 1024, end), (true, Err(Broken)), "{coding:?}");
        assert_eq!(unpacked(coding, &bomb, zeros.len() as u64).await.1, Ok(()), "{coding:?}");
    }
}

#[test]
fn fc_055_an_encoding_is_known_once_or_not_at_all() {
    for (values, expected) in [
        (&[][..], Encoding::Identity),
        (&["identity"], Encoding::Identity),
        (&["GZip"], Encoding::Known(Coding::Gzip)),
        (&["x-gzip"], Encoding::Known(Coding::Gzip)),
        (&["deflate"], Encoding::Known(Coding::Deflate)),
        (&["br"], Encoding::Known(Coding::Brotli)),
        (&["identity, zstd"], Encoding::Known(Coding::Zstd)),
        (&["gzip, gzip"], Encoding::Unknown),
        (&["gzip", "br"], Encoding::Unknown),
        (&["compress"], Encoding::Unknown),
        (&["aws-chunked"], Encoding::Unknown),
    ] {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
        }
        assert_eq!(Encoding::of(&headers), expected, "{values:?}");
    }
}
