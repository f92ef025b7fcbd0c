//! Tests of a Kubernetes manifest. In the deployment of this manifest, only the leading pod is
//! ready. The tests parse the manifest and run two of its commands as processes: the command of the
//! sidecar, and the readiness probe.

use rustix::process::Signal;
use yaml_rust2::{Yaml, YamlLoader};

use crate::holder::Tree;
use crate::service::{Service, example, until};

fn manifest() -> Vec<Yaml> {
    let text = std::fs::read_to_string(example("recipes/kubernetes.yaml")).expect("a manifest");
    YamlLoader::load_from_str(&text).expect("YAML")
}

fn container<'a>(deployment: &'a Yaml, name: &str) -> &'a Yaml {
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_vec();
    let containers = containers.expect("a list");
    containers.iter().find(|it| it["name"].as_str() == Some(name)).expect("the container")
}

/// Returns the words of a container's command. Replaces the directory `/leadership` by `directory`.
fn command(words: &Yaml, directory: &str) -> Vec<String> {
    let words = words.as_vec().expect("a list").iter().map(|word| word.as_str().expect("text"));
    words.map(|word| word.replace("/leadership", directory)).collect()
}

#[test]
fn manifest_refers_to_its_own_parts() {
    let documents = manifest();
    let [deployment, service] = &documents[..] else { panic!("two documents") };
    let kinds = documents.iter().map(|it| it["kind"].as_str().expect("a kind"));
    assert_eq!(kinds.collect::<Vec<_>>(), ["Deployment", "Service"]);

    let template = &deployment["spec"]["template"];
    let labels = &template["metadata"]["labels"];
    assert!(!labels.is_badvalue());
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(&service["spec"]["selector"], labels);
    assert!(deployment["spec"]["replicas"].as_i64() >= Some(2), "a leader and a standby");

    let volume = template["spec"]["volumes"][0]["name"].as_str().expect("a volume");
    for name in ["scheduler", "tenure"] {
        let mount = &container(deployment, name)["volumeMounts"][0];
        assert_eq!(mount["name"].as_str(), Some(volume), "{name}");
        assert_eq!(mount["mountPath"].as_str(), Some("/leadership"), "{name}");
    }
    let port = &container(deployment, "scheduler")["ports"][0]["containerPort"];
    assert_eq!(&service["spec"]["ports"][0]["targetPort"], port);
}

/// A simulated pod: its sidecar, and the directory that the sidecar shares with the application.
struct Pod<'a> {
    sidecar: Tree,
    name: &'a str,
}

impl Pod<'_> {
    fn start<'a>(service: &Service, deployment: &Yaml, name: &'a str) -> Pod<'a> {
        let directory = service.path(name);
        std::fs::create_dir(&directory).expect("a folder");
        let directory = directory.to_str().expect("text");
        let words = command(&container(deployment, "tenure")["command"], directory);
        let mut sidecar = service.command(&words[0]);
        sidecar.args(&words[1..]).env("ENDPOINTS", service.url()).env("POD_NAME", name);
        Pod { sidecar: Tree::start(&mut sidecar), name }
    }

    fn is_ready(&self, service: &Service, deployment: &Yaml) -> bool {
        let probe = &container(deployment, "scheduler")["readinessProbe"]["exec"]["command"];
        let words = command(probe, service.path(self.name).to_str().expect("text"));
        let mut probe = service.command(&words[0]);
        probe.args(&words[1..]).stderr(std::process::Stdio::null());
        probe.status().expect("the probe starts").success()
    }

    fn fence(&self, service: &Service) -> Option<u64> {
        service.text(&format!("{}/fence", self.name)).trim().parse().ok()
    }
}

#[test]
fn only_the_pod_of_the_leader_is_ready() {
    let service = Service::start();
    let documents = manifest();
    let deployment = &documents[0];
    let mut first = Pod::start(&service, deployment, "pod-1");
    until("the first pod is ready", || first.is_ready(&service, deployment));
    let earlier = first.fence(&service).expect("a token");
    let second = Pod::start(&service, deployment, "pod-2");
    until("the second pod campaigns", || service.leases().len() == 2);
    assert!(!second.is_ready(&service, deployment));

    first.sidecar.signal_first(Signal::TERM);
    assert!(first.sidecar.wait().success());
    assert!(!first.is_ready(&service, deployment), "a pod that ends is not ready");
    until("the second pod is ready", || second.is_ready(&service, deployment));
    assert!(second.fence(&service).expect("a token") > earlier);
}
