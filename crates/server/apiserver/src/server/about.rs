//! What a request is counted as: words of the server's own, whatever a client writes.

use http::Method;

use super::paths::{BACKUP_PATH, IDENTITY_PATH};
use crate::{
    catalogue::Catalogue,
    metrics::About,
    request::{RequestInfo, Route, Verb},
};

/// Stands for everything that has no name here.
const OTHER: &str = "other";
/// Paths that are counted by name, and what is below them under it.
const PATHS: [&str; 12] = [
    "/api",
    "/apis",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
    BACKUP_PATH,
    IDENTITY_PATH,
    "/",
];

/// What a request is about, as far as that is served.
pub(super) fn about(route: &Route, method: &Method, catalogue: &Catalogue) -> About {
    match route {
        Route::Resource(info) => of_resource(info, catalogue),
        Route::NonResource { path, .. } => {
            let below =
                |known: &&&str| path.strip_prefix(**known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let subresource = PATHS.iter().find(below).copied().unwrap_or(OTHER);
            About { verb: word(method), subresource, ..About::default() }
        }
    }
}

fn of_resource(info: &RequestInfo, catalogue: &Catalogue) -> About {
    let verb = match info.verb {
        Verb::Get => "GET",
        Verb::List => "LIST",
        Verb::Watch => "WATCH",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch => "PATCH",
        Verb::Delete => "DELETE",
        Verb::DeleteCollection => "DELETECOLLECTION",
    };
    let subresource = match info.subresource.as_deref() {
        None => "",
        Some("status") => "status",
        Some("scale") => "scale",
        Some("finalize") => "finalize",
        Some("token") => "token",
        Some(_) => OTHER,
    };
    match catalogue.lookup(&info.group, &info.version, &info.resource) {
        Some(found) => About { verb, group: found.group.clone(), resource: found.plural.clone(), subresource },
        None => About { verb, resource: OTHER.to_owned(), subresource, ..About::default() },
    }
}

fn word(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::route;

    fn of(method: &Method, target: &str) -> About {
        about(&route(method, &target.parse().unwrap()).unwrap(), method, &Catalogue::new([], 1))
    }

    #[test]
    fn what_a_client_makes_up_has_no_name() {
        let made_up = of(&Method::GET, "/apis/made.up/v9/things/a/deeply");
        assert_eq!((made_up.group.as_str(), made_up.resource.as_str(), made_up.subresource), ("", OTHER, OTHER));
        assert_eq!(of(&Method::GET, "/made/up").subresource, OTHER);
        assert_eq!(of(&"BREW".parse().unwrap(), "/version").verb, OTHER);
    }

    #[test]
    fn paths_are_counted_by_their_beginning() {
        for (path, name) in [
            ("/", "/"),
            ("/readyz", "/readyz"),
            ("/readyz/ping", "/readyz"),
            ("/openapi/v3/apis/a/b", "/openapi/v3"),
            ("/metrics", "/metrics"),
            ("/metricsx", OTHER),
        ] {
            assert_eq!(of(&Method::GET, path).subresource, name, "{path}");
        }
    }
}
