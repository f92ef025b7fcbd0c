//! Options of a candidacy.

/// Options of a candidacy: the identity, the priority, and the value that observers receive.
///
/// ```
/// use tenure_client::CampaignOptions;
///
/// let options = CampaignOptions::new("host-7").priority(1).value("https://host-7:8443");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignOptions {
    pub(crate) identity: String,
    pub(crate) priority: i32,
    pub(crate) value: Option<Vec<u8>>,
}

impl CampaignOptions {
    /// Creates options for a candidate with this identity and the priority 0.
    ///
    /// A request for a transfer names the identity of a candidate. Each candidate of an election
    /// should have a different identity. If several candidates have the same identity, a request
    /// selects the last of these candidates in the queue.
    pub fn new(identity: impl Into<String>) -> CampaignOptions {
        CampaignOptions { identity: identity.into(), priority: 0, value: None }
    }

    /// Sets the priority. A waiting candidate moves behind waiting candidates with a higher
    /// priority. If the leader has a lower priority than a waiting candidate, the leader is
    /// notified through
    /// [`Leadership::wait_until_transfer_due`](crate::Leadership::wait_until_transfer_due).
    /// Any number is allowed.
    #[must_use]
    pub fn priority(self, priority: i32) -> CampaignOptions {
        CampaignOptions { priority, ..self }
    }

    /// Sets the value that observers of the election receive. The default is the identity.
    #[must_use]
    pub fn value(self, value: impl Into<Vec<u8>>) -> CampaignOptions {
        CampaignOptions { value: Some(value.into()), ..self }
    }

    pub(crate) fn value_or_identity(&self) -> &[u8] {
        self.value.as_deref().unwrap_or(self.identity.as_bytes())
    }
}
