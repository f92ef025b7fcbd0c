//! Users and roles: who they are, and who proves to be one.

use tenure_etcd::authpb::{self, permission::Type};
use tenure_etcd::etcdserverpb as rpc;
use tenure_store::{Change, Command, Error, Rights, Span};

use crate::caller::Caller;
use crate::convert::span;
use crate::refusal::Refusal;
use crate::secrets::{self, Memory};
use crate::state::State;

type Header = Option<rpc::ResponseHeader>;

async fn change(member: &Caller, change: Change) -> Result<Header, Refusal> {
    let (revision, _) = member.answer(Command::Access(change)).await?;
    Ok(member.header(revision))
}

/// A password as it is kept.
async fn kept(member: &Caller, password: String) -> Result<tenure_store::Bytes, Refusal> {
    member.hashing.in_turn(move |memory| secrets::kept(&password, memory)).await
}

pub(crate) async fn enable(
    member: Caller,
    _: rpc::AuthEnableRequest,
) -> Result<rpc::AuthEnableResponse, Refusal> {
    let header = change(&member, Change::Enable { secret: secrets::key() }).await?;
    Ok(rpc::AuthEnableResponse { header })
}

pub(crate) async fn disable(
    member: Caller,
    _: rpc::AuthDisableRequest,
) -> Result<rpc::AuthDisableResponse, Refusal> {
    let header = change(&member, Change::Disable).await?;
    Ok(rpc::AuthDisableResponse { header })
}

pub(crate) async fn status(
    member: Caller,
    _: rpc::AuthStatusRequest,
) -> Result<rpc::AuthStatusResponse, Refusal> {
    member.may_all()?;
    let header = member.header_now();
    Ok(member.look(|state| {
        let access = state.store.access();
        let (enabled, auth_revision) = (access.is_enabled(), 1 + access.changes());
        rpc::AuthStatusResponse { header, enabled, auth_revision }
    }))
}

/// Gives whoever knows the password of a user a token.
pub(crate) async fn authenticate(
    member: Caller,
    asked: rpc::AuthenticateRequest,
) -> Result<rpc::AuthenticateResponse, Refusal> {
    member.confirm().await?;
    let rpc::AuthenticateRequest { name, password } = asked;
    if !member.look(|state| state.store.access().is_enabled()) {
        return Err(Error::AccessDisabled.into());
    }
    let (shared, user) = (member.shared.clone(), name.clone());
    // It may be another password by the time that it is its turn.
    let tried = move |memory: &mut Memory| {
        let known = password_of(&shared.lock(), &user);
        secrets::is_password(&known, &password, memory).then_some(known)
    };
    let proved = member.hashing.in_turn(tried).await?.ok_or(Refusal::AUTH_FAILED)?;
    let ttl = member.tokens.ttl();
    let token = member.look(|state| secrets::token(state.store.access(), &name, &proved, ttl))?;
    Ok(rpc::AuthenticateResponse { header: member.header_now(), token })
}

/// The password of a user as it is kept; an empty one if there is none.
fn password_of(state: &State, name: &str) -> tenure_store::Bytes {
    state.store.access().user(name).map(|user| user.password.clone()).unwrap_or_default()
}

pub(crate) async fn add_user(
    member: Caller,
    asked: rpc::AuthUserAddRequest,
) -> Result<rpc::AuthUserAddResponse, Refusal> {
    member.may_all()?;
    let has_none = asked.options.is_some_and(|it| it.no_password);
    let password = match has_none {
        true => tenure_store::Bytes::default(),
        false => kept(&member, asked.password).await?,
    };
    let header = change(&member, Change::AddUser { name: asked.name, password }).await?;
    Ok(rpc::AuthUserAddResponse { header })
}

pub(crate) async fn get_user(
    member: Caller,
    asked: rpc::AuthUserGetRequest,
) -> Result<rpc::AuthUserGetResponse, Refusal> {
    let _undecided = member.undecided();
    member.confirm().await?;
    if member.user().as_ref() != Some(&asked.name) {
        member.may_all()?;
    }
    let header = member.header_now();
    let roles = member.look(|state| {
        let user = state.store.access().user(&asked.name)?;
        Ok::<_, Error>(user.roles.iter().cloned().collect())
    })?;
    Ok(rpc::AuthUserGetResponse { header, roles })
}

pub(crate) async fn list_users(
    member: Caller,
    _: rpc::AuthUserListRequest,
) -> Result<rpc::AuthUserListResponse, Refusal> {
    let _undecided = member.undecided();
    member.confirm().await?;
    member.may_all()?;
    let header = member.header_now();
    let users = member.look(|state| state.store.access().users().cloned().collect());
    Ok(rpc::AuthUserListResponse { header, users })
}

pub(crate) async fn delete_user(
    member: Caller,
    asked: rpc::AuthUserDeleteRequest,
) -> Result<rpc::AuthUserDeleteResponse, Refusal> {
    let header = change(&member, Change::DeleteUser { name: asked.name }).await?;
    Ok(rpc::AuthUserDeleteResponse { header })
}

pub(crate) async fn change_password(
    member: Caller,
    asked: rpc::AuthUserChangePasswordRequest,
) -> Result<rpc::AuthUserChangePasswordResponse, Refusal> {
    if member.user().as_ref() != Some(&asked.name) {
        member.may_all()?;
    }
    let password = kept(&member, asked.password).await?;
    let header = change(&member, Change::ChangePassword { name: asked.name, password }).await?;
    Ok(rpc::AuthUserChangePasswordResponse { header })
}

pub(crate) async fn grant_role(
    member: Caller,
    asked: rpc::AuthUserGrantRoleRequest,
) -> Result<rpc::AuthUserGrantRoleResponse, Refusal> {
    let rpc::AuthUserGrantRoleRequest { user, role } = asked;
    let header = change(&member, Change::GrantRole { user, role }).await?;
    Ok(rpc::AuthUserGrantRoleResponse { header })
}

pub(crate) async fn revoke_role(
    member: Caller,
    asked: rpc::AuthUserRevokeRoleRequest,
) -> Result<rpc::AuthUserRevokeRoleResponse, Refusal> {
    let rpc::AuthUserRevokeRoleRequest { name: user, role } = asked;
    let header = change(&member, Change::RevokeRole { user, role }).await?;
    Ok(rpc::AuthUserRevokeRoleResponse { header })
}

pub(crate) async fn add_role(
    member: Caller,
    asked: rpc::AuthRoleAddRequest,
) -> Result<rpc::AuthRoleAddResponse, Refusal> {
    let header = change(&member, Change::AddRole { name: asked.name }).await?;
    Ok(rpc::AuthRoleAddResponse { header })
}

/// Whoever has a role may see what it may do.
pub(crate) async fn get_role(
    member: Caller,
    asked: rpc::AuthRoleGetRequest,
) -> Result<rpc::AuthRoleGetResponse, Refusal> {
    let _undecided = member.undecided();
    member.confirm().await?;
    let user = member.user();
    let has_it = member.look(|state| {
        let user = user.map(|name| state.store.access().user(&name));
        user.is_some_and(|user| user.is_ok_and(|user| user.roles.contains(&asked.role)))
    });
    if !has_it {
        member.may_all()?;
    }
    let header = member.header_now();
    let perm = member.look(|state| {
        let role = state.store.access().role(&asked.role)?;
        Ok::<_, Error>(role.iter().map(|(span, rights)| permission(span, *rights)).collect())
    })?;
    Ok(rpc::AuthRoleGetResponse { header, perm })
}

pub(crate) async fn list_roles(
    member: Caller,
    _: rpc::AuthRoleListRequest,
) -> Result<rpc::AuthRoleListResponse, Refusal> {
    let _undecided = member.undecided();
    member.confirm().await?;
    member.may_all()?;
    let header = member.header_now();
    let roles = member.look(|state| state.store.access().roles().cloned().collect());
    Ok(rpc::AuthRoleListResponse { header, roles })
}

pub(crate) async fn delete_role(
    member: Caller,
    asked: rpc::AuthRoleDeleteRequest,
) -> Result<rpc::AuthRoleDeleteResponse, Refusal> {
    let header = change(&member, Change::DeleteRole { name: asked.role }).await?;
    Ok(rpc::AuthRoleDeleteResponse { header })
}

pub(crate) async fn grant(
    member: Caller,
    asked: rpc::AuthRoleGrantPermissionRequest,
) -> Result<rpc::AuthRoleGrantPermissionResponse, Refusal> {
    let given = asked.perm.ok_or(Refusal::PERMISSION_MISSING)?;
    let rights = match Type::try_from(given.perm_type) {
        Ok(Type::Read) => Rights::Read,
        Ok(Type::Write) => Rights::Write,
        Ok(Type::Readwrite) => Rights::Both,
        // What nobody knows is no right to read.
        Err(_) => return Err(Refusal::PERMISSION_MISSING),
    };
    let span = span(given.key, given.range_end);
    let header = change(&member, Change::Grant { role: asked.name, span, rights }).await?;
    Ok(rpc::AuthRoleGrantPermissionResponse { header })
}

pub(crate) async fn revoke(
    member: Caller,
    asked: rpc::AuthRoleRevokePermissionRequest,
) -> Result<rpc::AuthRoleRevokePermissionResponse, Refusal> {
    let span = span(asked.key, asked.range_end);
    let header = change(&member, Change::Revoke { role: asked.role, span }).await?;
    Ok(rpc::AuthRoleRevokePermissionResponse { header })
}

fn permission(span: &Span, rights: Rights) -> authpb::Permission {
    let kind = match rights {
        Rights::Read => Type::Read,
        Rights::Write => Type::Write,
        Rights::Both => Type::Readwrite,
    };
    let (key, range_end) = (span.key.to_vec(), span.end.to_vec());
    authpb::Permission { perm_type: kind.into(), key, range_end }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt;
    use tenure_store::{Asker, ROOT};

    use super::*;
    use crate::caller::tests::closed;

    fn asked(password: &str) -> rpc::AuthenticateRequest {
        rpc::AuthenticateRequest { name: ROOT.into(), password: password.into() }
    }

    #[tokio::test]
    async fn a_right_that_nobody_knows_is_not_granted() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = Caller::new(closed(folder.path(), "secret").await, Asker::Member);
        change(&member, Change::AddRole { name: "jobs".into() }).await.expect("a change");
        let granted = async |perm_type| {
            let perm = Some(authpb::Permission { perm_type, key: b"a".into(), range_end: vec![] });
            let asked = rpc::AuthRoleGrantPermissionRequest { name: "jobs".into(), perm };
            grant(member.clone(), asked).await.map(drop)
        };
        assert_eq!(granted(9).await, Err(Refusal::PERMISSION_MISSING));
        assert_eq!(granted(Type::Write.into()).await, Ok(()));
    }

    #[tokio::test]
    async fn the_password_that_counts_is_that_of_the_turn() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = Caller::new(closed(folder.path(), "old").await, Asker::Member);
        let (go_on, held) = mpsc::channel::<()>();
        let mut other = Box::pin(member.hashing.in_turn(move |_| held.recv().is_ok()));
        assert!((&mut other).now_or_never().is_none());
        let old = tokio::spawn(authenticate(member.clone(), asked("old")));
        let new = tokio::spawn(authenticate(member.clone(), asked("new")));
        member.hashing.until_waiting(2).await;
        let (name, password) = (ROOT.into(), secrets::kept("new", &mut Memory::default()));
        change(&member, Change::ChangePassword { name, password }).await.expect("a change");
        go_on.send(()).expect("the turn is held");
        assert_eq!(other.await, Ok(true));
        assert_eq!(old.await.expect("an end"), Err(Refusal::AUTH_FAILED));
        assert!(new.await.expect("an end").is_ok());
    }
}
