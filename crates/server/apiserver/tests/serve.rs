//! A whole server on a free port, spoken to over TLS by a client library that others use.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use netloom_admission::taints::TaintKey;
use netloom_apiserver::{
    identity,
    server::{BACKUP_PATH, IDENTITY_PATH, Limits, Options, Server},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// A folder that goes away at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("netloom-serve-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn options(folder: &Path) -> Options {
    let listen = "127.0.0.1:0".parse().unwrap();
    let agent_taints = vec![TaintKey::starting()];
    Options { folder: folder.into(), listen, remote: false, limits: Limits::default(), agent_taints }
}

async fn started(folder: &Folder) -> Server {
    Server::start(options(&folder.0)).await.unwrap()
}

async fn client(kubeconfig: &str) -> Client {
    let read = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

async fn administrator(server: &Server) -> Client {
    client(&server.administrator(Timestamp::now()).unwrap()).await
}

/// Somebody with a certificate of the server's own authority.
async fn somebody(server: &Server, name: &str, groups: &[&str]) -> Client {
    let credentials = server.authority().client(name, groups, Timestamp::now()).unwrap();
    let (url, authority) = (server.url(), server.authority().certificate());
    client(&identity::Kubeconfig { server: &url, authority, user: name, credentials: &credentials }.text()).await
}

/// Somebody without any credential, or with a token.
fn stranger(server: &Server, token: Option<&str>) -> Client {
    let mut config = Config::new(server.url().parse().unwrap());
    let pem = server.authority().certificate();
    let der = pem.lines().filter(|line| !line.starts_with("-----")).collect::<String>();
    config.root_cert = Some(vec![STANDARD.decode(der).unwrap()]);
    if let Some(token) = token {
        config.auth_info.token = Some(token.to_owned().into());
    }
    Client::try_from(config).unwrap()
}

/// Sends a request; answers its code and what came back, if that is JSON.
async fn send(client: &Client, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    send_with(client, method, path, body, &[]).await
}

async fn send_with(
    client: &Client,
    method: &str,
    path: &str,
    body: Option<Value>,
    headers: &[(&str, &str)],
) -> (u16, Value) {
    let mut request = http::Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
    let answer = client.send(request.body(Body::from(body)).unwrap()).await.unwrap();
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect_bytes().await.unwrap();
    (code, serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes))))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_from_nothing_serves_everything() {
    let folder = Folder::new("everything");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    assert_eq!(send(&admin, "GET", "/readyz", None).await, (200, json!("ok")));
    let (code, version) = send(&admin, "GET", "/version", None).await;
    assert_eq!((code, &version["minor"]), (200, &json!("36")));
    let (_, groups) = send(&admin, "GET", "/apis", None).await;
    let names: Vec<&str> = groups["groups"].as_array().unwrap().iter().filter_map(|g| g["name"].as_str()).collect();
    for wanted in ["nmstate.io", "rbac.authorization.k8s.io", "authorization.k8s.io", "coordination.k8s.io"] {
        assert!(names.contains(&wanted), "{wanted} is not in {names:?}");
    }
    let (_, crds) = send(&admin, "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", None).await;
    let all = crds["items"].as_array().unwrap();
    assert_eq!(all.len(), netloom_api::kinds().len());
    let established = |crd: &Value| {
        let conditions = crd["status"]["conditions"].as_array().unwrap();
        conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True")
    };
    assert!(all.iter().all(established), "{crds}");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let (code, made) = send(&admin, "POST", "/api/v1/namespaces/default/configmaps", Some(object)).await;
    assert_eq!(code, 201, "{made}");
    let (code, read) = send(&admin, "GET", "/api/v1/namespaces/default/configmaps/a", None).await;
    assert_eq!((code, &read["data"]), (200, &json!({"k": "v"})));
    assert_eq!(send(&admin, "GET", "/nothing/here", None).await.0, 404);
    assert_eq!(send(&admin, "GET", "/api//v1", None).await.0, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stored_is_there_after_a_restart() {
    let folder = Folder::new("restart");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let object = json!({"metadata": {"name": "a"}});
    assert_eq!(send(&admin, "POST", "/api/v1/namespaces", Some(object)).await.0, 201);
    let second = Server::start(options(&folder.0)).await.unwrap_err();
    assert_eq!(second.reason(), "StoreInUse");
    server.stop().await;
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    assert_eq!(send(&admin, "GET", "/api/v1/namespaces/a", None).await.0, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_machines_are_let_in_only_when_reported() {
    let folder = Folder::new("remote");
    let open = Options { listen: "0.0.0.0:0".parse().unwrap(), ..options(&folder.0) };
    assert_eq!(Server::start(open).await.unwrap_err().reason(), "NotLoopback");
    assert!(!folder.0.exists(), "nothing is touched");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_refused() {
    let folder = Folder::new("strangers");
    let server = started(&folder).await;
    let nobody = stranger(&server, None);
    assert_eq!(send(&nobody, "GET", "/readyz", None).await.0, 200);
    assert_eq!(send(&nobody, "GET", "/version", None).await.0, 200);
    let (code, status) = send(&nobody, "GET", "/api/v1/namespaces", None).await;
    assert_eq!((code, &status["reason"]), (401, &json!("Unauthorized")));
    assert_eq!(send(&nobody, "GET", "/api", None).await.0, 401);
    assert_eq!(send(&stranger(&server, Some("no.such.token")), "GET", "/version", None).await.0, 401);
    // A certificate of another authority that says the same.
    let other = Folder::new("strangers-other");
    let theirs = started(&other).await;
    let credentials = theirs.authority().client("root", &["system:masters"], Timestamp::now()).unwrap();
    let (url, authority) = (server.url(), server.authority().certificate());
    let forged = identity::Kubeconfig { server: &url, authority, user: "root", credentials: &credentials }.text();
    assert_eq!(send(&client(&forged).await, "GET", "/version", None).await.0, 401);
    theirs.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_decide_and_nobody_gives_more_than_they_have() {
    let folder = Folder::new("rules");
    let server = started(&folder).await;
    let (admin, ann) = (administrator(&server).await, somebody(&server, "ann", &[]).await);
    let pods = "/api/v1/namespaces/default/pods";
    let (code, status) = send(&ann, "GET", pods, None).await;
    let expected =
        "pods is forbidden: User \"ann\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\"";
    assert_eq!((code, &status["message"]), (403, &json!(expected)));
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    let role = |name: &str, verbs: &[&str]| {
        json!({"metadata": {"name": name}, "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": verbs},
            {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"]},
        ]})
    };
    let binding = json!({
        "metadata": {"name": "ann"}, "roleRef": {"kind": "Role", "name": "reader"},
        "subjects": [{"kind": "User", "name": "ann"}],
    });
    assert_eq!(send(&admin, "POST", roles, Some(role("reader", &["get", "list"]))).await.0, 201);
    assert_eq!(send(&admin, "POST", bindings, Some(binding)).await.0, 201);
    assert_eq!(send(&ann, "GET", pods, None).await.0, 200, "a binding counts at once");
    assert_eq!(send(&ann, "POST", roles, Some(role("same", &["get"]))).await.0, 201);
    let (code, status) = send(&ann, "POST", roles, Some(role("more", &["get", "delete"]))).await;
    assert_eq!(code, 403, "{status}");
    assert!(status["message"].as_str().unwrap().contains("is attempting to grant RBAC permissions not currently held"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_or_update_that_creates_needs_the_right_to_create() {
    let folder = Folder::new("creates");
    let server = started(&folder).await;
    let (admin, ann) = (administrator(&server).await, somebody(&server, "ann", &[]).await);
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let role = json!({"metadata": {"name": "changer"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["named"], "verbs": ["create"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["update"]},
    ]});
    let binding = json!({
        "metadata": {"name": "changer"}, "roleRef": {"kind": "ClusterRole", "name": "changer"},
        "subjects": [{"kind": "User", "name": "ann"}],
    });
    assert_eq!(send(&admin, "POST", roles, Some(role)).await.0, 201);
    assert_eq!(send(&admin, "POST", bindings, Some(binding)).await.0, 201);
    let path = |name: &str| format!("/api/v1/namespaces/default/configmaps/{name}?fieldManager=ann");
    let map = |name: &str| Some(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}));
    let apply = [("content-type", "application/apply-patch+yaml")];
    let (code, status) = send_with(&ann, "PATCH", &path("other"), map("other"), &apply).await;
    assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")), "{status}");
    assert_eq!(send_with(&ann, "PATCH", &path("named"), map("named"), &apply).await.0, 201, "by its name");
    assert_eq!(send_with(&admin, "PATCH", &path("other"), map("other"), &apply).await.0, 201);
    assert_eq!(send_with(&ann, "PATCH", &path("other"), map("other"), &apply).await.0, 200, "what is there is changed");
    let (lease, wanted) =
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases/l", json!({"metadata": {"name": "l"}}));
    assert_eq!(send(&ann, "PUT", lease, Some(wanted.clone())).await.0, 403);
    assert_eq!(send(&admin, "PUT", lease, Some(wanted)).await.0, 201);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_shows_what_it_gathers() {
    let folder = Folder::new("gathers");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let whole = json!({
        "metadata": {"name": "whole"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]},
    });
    let allowed = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let part = json!({"metadata": {"name": "part", "labels": {"part": "yes"}}, "rules": allowed});
    let (code, made) = send(&admin, "POST", roles, Some(whole)).await;
    assert_eq!((code, &made["rules"]), (201, &Value::Null));
    assert_eq!(send(&admin, "POST", roles, Some(part)).await.0, 201);
    let gathered = async {
        while send(&admin, "GET", &format!("{roles}/whole"), None).await.1["rules"] != allowed {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), gathered).await.expect("it shows the rules of its part");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_about_access_are_answered() {
    let folder = Folder::new("reviews");
    let server = started(&folder).await;
    let (admin, ann) = (administrator(&server).await, somebody(&server, "ann", &["g"]).await);
    let reviews = "/apis/authorization.k8s.io/v1";
    let pods = json!({"verb": "list", "resource": "pods", "namespace": "default"});
    let ask = json!({"spec": {"resourceAttributes": pods}});
    let (code, answer) = send(&ann, "POST", &format!("{reviews}/selfsubjectaccessreviews"), Some(ask.clone())).await;
    assert_eq!((code, &answer["status"]["allowed"]), (201, &json!(false)));
    let (_, answer) = send(&admin, "POST", &format!("{reviews}/selfsubjectaccessreviews"), Some(ask)).await;
    assert_eq!(answer["status"]["allowed"], true);
    let about = json!({"spec": {"resourceAttributes": pods, "user": "x", "groups": ["system:masters"]}});
    let (_, answer) = send(&admin, "POST", &format!("{reviews}/subjectaccessreviews"), Some(about)).await;
    assert_eq!(answer["status"]["allowed"], true);
    let who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (_, answer) = send(&ann, "POST", who, Some(json!({}))).await;
    assert_eq!(answer["status"]["userInfo"]["username"], "ann");
    assert_eq!(answer["status"]["userInfo"]["groups"], json!(["g", "system:authenticated"]));
    let rules = json!({"spec": {"namespace": "default"}});
    let (_, answer) = send(&admin, "POST", &format!("{reviews}/selfsubjectrulesreviews"), Some(rules)).await;
    assert_eq!(answer["status"]["resourceRules"][0]["verbs"], json!(["*"]));
    let as_ann = [("impersonate-user", "ann")];
    let (_, answer) = send_with(&admin, "POST", who, Some(json!({})), &as_ann).await;
    assert_eq!(answer["status"]["userInfo"]["username"], "ann");
    let (code, status) = send_with(&ann, "POST", who, Some(json!({})), &[("impersonate-user", "root")]).await;
    assert_eq!(code, 403, "{status}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_lives_as_long_as_its_account() {
    let folder = Folder::new("tokens");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(send(&admin, "POST", accounts, Some(json!({"metadata": {"name": "s"}}))).await.0, 201);
    let (code, made) = send(&admin, "POST", &format!("{accounts}/s/token"), Some(json!({"spec": {}}))).await;
    assert_eq!(code, 201, "{made}");
    let token = made["status"]["token"].as_str().unwrap();
    let account = stranger(&server, Some(token));
    let who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (code, answer) = send(&account, "POST", who, Some(json!({}))).await;
    assert_eq!((code, &answer["status"]["userInfo"]["username"]), (201, &json!("system:serviceaccount:default:s")));
    let review = json!({"spec": {"token": token}});
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let (_, answer) = send(&admin, "POST", reviews, Some(review.clone())).await;
    assert_eq!(answer["status"]["authenticated"], true, "{answer}");
    assert_eq!(send(&admin, "DELETE", &format!("{accounts}/s"), None).await.0, 200);
    assert_eq!(send(&account, "POST", who, Some(json!({}))).await.0, 401);
    let (_, answer) = send(&admin, "POST", reviews, Some(review)).await;
    assert_eq!(answer["status"].get("authenticated"), None);
    let short = json!({"spec": {"expirationSeconds": 5}});
    assert_eq!(send(&admin, "POST", accounts, Some(json!({"metadata": {"name": "t"}}))).await.0, 201);
    assert_eq!(send(&admin, "POST", &format!("{accounts}/t/token"), Some(short)).await.0, 422);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_gets_an_identity_and_stays_on_its_node() {
    let folder = Folder::new("agents");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let (code, made) = send(&admin, "POST", &format!("{IDENTITY_PATH}?node=n1"), None).await;
    assert_eq!(code, 201, "{made}");
    let credentials = netloom_apiserver::ca::Credentials {
        certificate: made["certificate"].as_str().unwrap().into(),
        key: made["key"].as_str().unwrap().into(),
    };
    let (url, authority) = (server.url(), made["authority"].as_str().unwrap());
    let user = made["user"].as_str().unwrap();
    let agent = client(&identity::Kubeconfig { server: &url, authority, user, credentials: &credentials }.text()).await;
    let states = "/apis/nmstate.io/v1/namespaces/default/nodenetworkstates";
    let state = |name: &str, node: &str| json!({"apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"name": name}, "spec": {"nodeName": node, "managed": false}});
    let (code, own) = send(&agent, "POST", states, Some(state("n1", "n1"))).await;
    assert_eq!(code, 201, "{own}");
    let (code, foreign) = send(&agent, "POST", states, Some(state("n2", "n2"))).await;
    assert_eq!(code, 403, "{foreign}");
    let node = json!({"metadata": {"name": "n1"}, "spec": {"taints": [
        {"key": "netloom.dev/starting", "effect": "NoSchedule"}, {"key": "kept", "effect": "NoSchedule"}]}});
    assert_eq!(send(&admin, "POST", "/api/v1/nodes", Some(node)).await.0, 201);
    let merge = [("content-type", "application/merge-patch+json")];
    let kept = json!({"spec": {"taints": [{"key": "kept", "effect": "NoSchedule"}]}});
    assert_eq!(send_with(&agent, "PATCH", "/api/v1/nodes/n1", Some(kept), &merge).await.0, 200);
    let bare = json!({"spec": {"taints": null}});
    let (code, refused) = send_with(&agent, "PATCH", "/api/v1/nodes/n1", Some(bare), &merge).await;
    assert_eq!(code, 403, "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("may not take the taint \"kept\" off"), "{refused}");
    assert_eq!(send(&agent, "POST", &format!("{IDENTITY_PATH}?node=n2"), None).await.0, 403);
    assert_eq!(send(&admin, "POST", &format!("{IDENTITY_PATH}?node=N%2F"), None).await.0, 400);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_controller_writes_definitions_under_its_own_names_only() {
    let folder = Folder::new("names");
    let server = started(&folder).await;
    let controller = somebody(&server, "netloom:controller", &["netloom:controllers"]).await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let own = netloom_api::kinds()[0].crd();
    let mut other = own.clone();
    other["metadata"]["name"] = json!("things.example.dev");
    other["spec"]["group"] = json!("example.dev");
    other["spec"]["names"] = json!({"plural": "things", "kind": "Thing"});
    let apply = [("content-type", "application/apply-patch+yaml")];
    for (definition, expected) in [(&own, 200), (&other, 403)] {
        let name = definition["metadata"]["name"].as_str().unwrap();
        let path = format!("{definitions}/{name}?fieldManager=netloom-controller&force=true");
        let (code, status) = send_with(&controller, "PATCH", &path, Some(definition.clone()), &apply).await;
        assert_eq!(code, expected, "{status}");
    }
    assert_eq!(send(&controller, "POST", definitions, Some(own)).await.0, 403);
    assert_eq!(send(&controller, "GET", definitions, None).await.0, 200);
    // There are no such configurations here; whether somebody may is asked before.
    let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    for (path, expected) in
        [("/netloom", 404), ("?fieldSelector=metadata.name%3Dnetloom", 404), ("/other", 403), ("", 403)]
    {
        assert_eq!(send(&controller, "GET", &format!("{hooks}{path}"), None).await.0, expected, "{path}");
    }
    assert_eq!(send(&controller, "PUT", &format!("{hooks}/netloom"), Some(json!({}))).await.0, 404);
    assert_eq!(send(&controller, "PUT", &format!("{hooks}/other"), Some(json!({}))).await.0, 403);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_start_takes_back_rights_that_this_version_does_not_give() {
    let folder = Folder::new("renewed");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let controller = format!("{rbac}/clusterroles/netloom-controller");
    let (_, as_shipped) = send(&admin, "GET", &controller, None).await;
    // As an older version made them, and as somebody made them who wants them so.
    let broad = json!({"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
    let mut kept = broad.clone();
    kept["metadata"] = json!({"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}});
    let with_ann = json!({"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]});
    let merge = [("content-type", "application/merge-patch+json")];
    for (path, patch) in [
        ("clusterroles/netloom-controller", &broad),
        ("clusterroles/netloom-editor", &kept),
        ("clusterroles/system:monitoring", &broad),
        ("namespaces/netloom-system/roles/netloom-agent", &broad),
        ("clusterrolebindings/netloom-controller", &with_ann),
    ] {
        let (code, status) = send_with(&admin, "PATCH", &format!("{rbac}/{path}"), Some(patch.clone()), &merge).await;
        assert_eq!(code, 200, "{path}: {status}");
    }
    server.stop().await;

    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let rules = async |path: &str| send(&admin, "GET", &format!("{rbac}/{path}"), None).await.1["rules"].clone();
    assert_eq!(rules("clusterroles/netloom-controller").await, as_shipped["rules"]);
    assert_eq!(rules("clusterroles/netloom-editor").await, broad["rules"], "its annotation keeps it");
    assert_eq!(rules("clusterroles/system:monitoring").await, broad["rules"], "it is not ours");
    assert_eq!(rules("namespaces/netloom-system/roles/netloom-agent").await[0]["resources"], json!(["leases"]));
    let secrets = "/api/v1/namespaces/netloom-system/secrets";
    let process = somebody(&server, "netloom:controller", &["netloom:controllers"]).await;
    assert_eq!(send(&process, "GET", secrets, None).await.0, 200, "it is bound again");
    assert_eq!(send(&process, "GET", "/api/v1/secrets", None).await.0, 403);
    let states = "/apis/nmstate.io/v1/nodenetworkstates";
    assert_eq!(send(&process, "GET", states, None).await.0, 200);
    let ann = somebody(&server, "ann", &[]).await;
    assert_eq!(send(&ann, "GET", states, None).await.0, 403, "who was added to the binding is not in it any more");
    let (_, before) = send(&admin, "GET", &controller, None).await;
    server.stop().await;

    let server = started(&folder).await;
    let (_, after) = send(&administrator(&server).await, "GET", &controller, None).await;
    assert_eq!(after, before, "what is current is not written again");
    assert_eq!(after["metadata"]["uid"], as_shipped["metadata"]["uid"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_of_machines_are_marked_also_where_an_older_program_made_them() {
    let folder = Folder::new("marks");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/virtualmachines.kubevirt.io";
    let mark = |definition: &Value| definition["metadata"]["annotations"]["netloom.dev/installed"].clone();
    assert_eq!(mark(&send(&admin, "GET", path, None).await.1), "built-in");
    let merge = [("content-type", "application/merge-patch+json")];
    let unmarked = json!({"metadata": {"annotations": {"netloom.dev/installed": null, "mine": "kept"}}});
    assert_eq!(send_with(&admin, "PATCH", path, Some(unmarked), &merge).await.0, 200);
    server.stop().await;

    let server = started(&folder).await;
    let (_, marked) = send(&administrator(&server).await, "GET", path, None).await;
    assert_eq!((mark(&marked), &marked["metadata"]["annotations"]["mine"]), (json!("built-in"), &json!("kept")));
    server.stop().await;

    let server = started(&folder).await;
    let (_, again) = send(&administrator(&server).await, "GET", path, None).await;
    assert_eq!(again["metadata"]["resourceVersion"], marked["metadata"]["resourceVersion"], "once is enough");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_reported_apart_and_kept() {
    let folder = Folder::new("documents");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let accept = format!("{aggregated};profile=nopeer,{aggregated},application/json");
    for path in ["/api", "/apis"] {
        let request = http::Request::get(path).header("accept", &accept).body(Body::empty()).unwrap();
        let answer = admin.send(request).await.unwrap();
        assert_eq!(answer.headers()["content-type"], aggregated);
        let tag = answer.headers()["etag"].clone();
        let request = http::Request::get(path).header("accept", &accept).header("if-none-match", tag);
        let again = admin.send(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(again.status(), 304);
    }
    let (_, index) = send(&admin, "GET", "/openapi/v3", None).await;
    let url = index["paths"]["api/v1"]["serverRelativeURL"].as_str().unwrap();
    let request = http::Request::get(url).header("accept-encoding", "gzip").body(Body::empty()).unwrap();
    let answer = admin.send(request).await.unwrap();
    assert_eq!(answer.headers()["cache-control"], "public, immutable");
    let (_, document) = send(&admin, "GET", url, None).await;
    assert!(document["components"]["schemas"].get("io.k8s.api.core.v1.Namespace").is_some());
    assert_eq!(send(&admin, "GET", "/openapi/v3/api/v1?hash=OLD", None).await.0, 301);
    assert_eq!(send(&admin, "GET", "/openapi/v3/apis/no/v1", None).await.0, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_taken_while_the_server_runs() {
    let folder = Folder::new("backup");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    assert_eq!(send(&admin, "POST", "/api/v1/namespaces", Some(json!({"metadata": {"name": "kept"}}))).await.0, 201);
    let answer = admin.send(http::Request::get(BACKUP_PATH).body(Body::empty()).unwrap()).await.unwrap();
    let length: usize = answer.headers()["content-length"].to_str().unwrap().parse().unwrap();
    let bytes = answer.into_body().collect_bytes().await.unwrap();
    assert_eq!(bytes.len(), length, "whoever gets less knows it");
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("backup")), "{left:?}");
    let ann = somebody(&server, "ann", &[]).await;
    assert_eq!(send(&ann, "GET", BACKUP_PATH, None).await.0, 403);
    server.stop().await;
    let other = Folder::new("backup-other");
    std::fs::create_dir_all(&other.0).unwrap();
    let file = other.0.join("copy");
    std::fs::write(&file, bytes).unwrap();
    netloom_store::restore(&file, &netloom_apiserver::server::store_path(&other.0)).unwrap();
    let server = started(&other).await;
    let admin = administrator(&server).await;
    assert_eq!(send(&admin, "GET", "/api/v1/namespaces/kept", None).await.0, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_and_silent_connections_are_cut() {
    let folder = Folder::new("limits");
    let mut limits = Limits::default();
    limits.listener.handshake = Duration::from_millis(200);
    let server = Server::start(Options { limits, ..options(&folder.0) }).await.unwrap();
    let admin = administrator(&server).await;
    let large = json!({"metadata": {"name": "a"}, "data": {"k": "x".repeat(4 << 20)}});
    let (code, status) = send(&admin, "POST", "/api/v1/namespaces/default/configmaps", Some(large)).await;
    assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")));
    let mut silent = TcpStream::connect(server.address()).await.unwrap();
    let mut buffer = [0; 16];
    let ended = timeout(Duration::from_secs(10), silent.read(&mut buffer)).await.expect("it is cut off");
    assert_eq!(ended.unwrap_or(0), 0);
    let mut nonsense = TcpStream::connect(server.address()).await.unwrap();
    nonsense.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut all = Vec::new();
    drop(timeout(Duration::from_secs(10), nonsense.read_to_end(&mut all)).await.expect("it is cut off"));
    assert_eq!(send(&admin, "GET", "/readyz", None).await.0, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_is_reported_to_those_who_may_know() {
    let folder = Folder::new("metrics");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let wrong = json!({"apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": "p"}, "spec": {"waves": [5, 4]}});
    let policies = "/apis/netloom.dev/v1alpha1/rolloutpolicies";
    assert_eq!(send(&admin, "POST", policies, Some(wrong)).await.0, 422);
    assert_eq!(send(&admin, "GET", "/apis/made.up/v1/things", None).await.0, 404);
    assert_eq!(send(&stranger(&server, Some("rubbish")), "GET", policies, None).await.0, 401);
    let watch = http::Request::get(format!("{policies}?watch=true")).body(Body::empty()).unwrap();
    let watch = admin.send(watch).await.unwrap();
    let (code, text) = send(&admin, "GET", "/metrics", None).await;
    assert_eq!(code, 200, "{text}");
    let text = text.as_str().unwrap();
    for line in [
        r#"apiserver_request_total{verb="POST",group="netloom.dev",resource="rolloutpolicies",subresource="",code="422"} 1"#,
        r#"apiserver_request_total{verb="LIST",group="",resource="other",subresource="",code="404"} 1"#,
        r#"apiserver_request_total{verb="WATCH",group="netloom.dev",resource="rolloutpolicies",subresource="",code="200"} 1"#,
        r#"netloom_admission_refusals_total{group="netloom.dev",resource="rolloutpolicies",reason="Invalid"} 1"#,
        "netloom_authentication_refusals_total 1",
        "apiserver_longrunning_requests 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("made.up"), "{text}");
    drop(watch);
    let nobody = somebody(&server, "nobody", &[]).await;
    assert_eq!(send(&nobody, "GET", "/metrics", None).await.0, 403);
    let monitor = somebody(&server, "prometheus", &["system:monitoring"]).await;
    assert_eq!(send(&monitor, "GET", "/metrics", None).await.0, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_end_at_once_and_cleanly_when_the_server_stops() {
    let folder = Folder::new("stopping");
    let mut limits = Limits::default();
    // Whoever waits for this long was not asked to end.
    limits.listener.ending = Duration::from_mins(1);
    let server = Server::start(Options { limits, ..options(&folder.0) }).await.unwrap();
    let admin = administrator(&server).await;
    let mut watches = Vec::new();
    for _ in 0..3 {
        let request = http::Request::get("/api/v1/namespaces?watch=true").body(Body::empty()).unwrap();
        let answer = admin.send(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        watches.push(answer.into_body());
    }
    let stopping = tokio::spawn(server.stop());
    for watch in watches {
        let ended = timeout(Duration::from_secs(20), watch.collect_bytes()).await.expect("the watch ends");
        assert!(ended.is_ok(), "it was cut: {ended:?}");
    }
    drop(admin);
    timeout(Duration::from_secs(20), stopping).await.expect("nothing holds the server").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_writes_that_exclude_each_other_one_is_taken() {
    const WRITERS: usize = 16;
    let folder = Folder::new("turns");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let vrfs = "/apis/network.t-caas.telekom.com/v1alpha1/vrfs";
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..WRITERS {
        let vrf = json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "VRF",
            "metadata": {"name": format!("v{number}")},
            "spec": {"vrf": format!("v{number}"), "vni": 7_000, "routeTarget": "65000:7000"},
        });
        let admin = admin.clone();
        writers.spawn(async move { send(&admin, "POST", vrfs, Some(vrf)).await });
    }
    let answers = writers.join_all().await;
    let codes: Vec<u16> = answers.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 201).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 422).count(), WRITERS - 1, "{answers:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_large_objects_is_short_and_leads_to_the_next() {
    let folder = Folder::new("large-pages");
    let server = started(&folder).await;
    let admin = administrator(&server).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    for number in 0..10 {
        let map = json!({"metadata": {"name": format!("m{number}")}, "data": {"k": "x".repeat(1 << 20)}});
        assert_eq!(send(&admin, "POST", maps, Some(map)).await.0, 201);
    }
    let (_, first) = send(&admin, "GET", &format!("{maps}?limit=500"), None).await;
    let count = first["items"].as_array().unwrap().len();
    assert!((1..10).contains(&count), "{count} objects of a MiB on one page");
    let left = u64::try_from(10 - count).unwrap();
    assert_eq!(first["metadata"]["remainingItemCount"], left);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let (_, second) = send(&admin, "GET", &format!("{maps}?limit=500&continue={token}"), None).await;
    assert_eq!(second["items"].as_array().unwrap().len(), 10 - count);
    assert_eq!(second["metadata"].get("continue"), None);
    let (_, whole) = send(&admin, "GET", maps, None).await;
    assert_eq!(whole["items"].as_array().unwrap().len(), 10);
    server.stop().await;
}
