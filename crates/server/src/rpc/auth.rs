//! Service `Auth`: users, roles and authentication.

use tenure_etcd::authpb::{self, permission::Type};
use tenure_etcd::etcdserverpb as rpc;
use tenure_store::{AccessChange, Command, Error, KeySpan, Permission};

use crate::auth::caller::Caller;
use crate::auth::secrets::{self, PasswordHashBuffer};
use crate::rpc::convert::span;
use crate::rpc::error::RpcError;

type Header = Option<rpc::ResponseHeader>;

async fn change(caller: &Caller, change: AccessChange) -> Result<Header, RpcError> {
    let (revision, _) = caller.execute(Command::Access(change)).await?;
    Ok(caller.response_header(revision))
}

/// Hashes a password. The member hashes one password at a time, so the call may wait in a queue.
/// Fails if the queue is full.
async fn hash_password(caller: &Caller, password: String) -> Result<tenure_store::Bytes, RpcError> {
    caller.password_hasher.run(move |memory| secrets::hash_password(&password, memory)).await
}

pub(crate) async fn enable(
    caller: Caller,
    _: rpc::AuthEnableRequest,
) -> Result<rpc::AuthEnableResponse, RpcError> {
    let header =
        change(&caller, AccessChange::Enable { secret: secrets::new_signing_key() }).await?;
    Ok(rpc::AuthEnableResponse { header })
}

pub(crate) async fn disable(
    caller: Caller,
    _: rpc::AuthDisableRequest,
) -> Result<rpc::AuthDisableResponse, RpcError> {
    let header = change(&caller, AccessChange::Disable).await?;
    Ok(rpc::AuthDisableResponse { header })
}

pub(crate) async fn status(
    caller: Caller,
    _: rpc::AuthStatusRequest,
) -> Result<rpc::AuthStatusResponse, RpcError> {
    caller.check_root()?;
    let header = caller.current_response_header();
    Ok(caller.with_state(|state| {
        let access = state.store.access_control();
        let (enabled, auth_revision) = (access.is_enabled(), 1 + access.change_count());
        rpc::AuthStatusResponse { header, enabled, auth_revision }
    }))
}

pub(crate) async fn authenticate(
    caller: Caller,
    request: rpc::AuthenticateRequest,
) -> Result<rpc::AuthenticateResponse, RpcError> {
    caller.wait_linearizable().await?;
    let rpc::AuthenticateRequest { name, password } = request;
    if !caller.with_state(|state| state.store.access_control().is_enabled()) {
        return Err(Error::AccessDisabled.into());
    }
    let (shared, user) = (caller.shared.clone(), name.clone());
    // The password may change while the verification is queued.
    let verify = move |memory: &mut PasswordHashBuffer| {
        // The stored form is empty if the user does not exist.
        let stored =
            shared.lock().store.access_control().user(&user).map(|user| user.password.clone());
        let stored = stored.unwrap_or_default();
        secrets::verify_password(&stored, &password, memory).then_some(stored)
    };
    let proven_hash = caller.password_hasher.run(verify).await?.ok_or(RpcError::AUTH_FAILED)?;
    let ttl = caller.token_uses.ttl();
    let token = caller.with_state(|state| {
        secrets::issue_token(state.store.access_control(), &name, &proven_hash, ttl)
    })?;
    Ok(rpc::AuthenticateResponse { header: caller.current_response_header(), token })
}

pub(crate) async fn add_user(
    caller: Caller,
    request: rpc::AuthUserAddRequest,
) -> Result<rpc::AuthUserAddResponse, RpcError> {
    caller.check_root()?;
    let has_none = request.options.is_some_and(|it| it.no_password);
    let password = match has_none {
        true => tenure_store::Bytes::default(),
        false => hash_password(&caller, request.password).await?,
    };
    let header = change(&caller, AccessChange::AddUser { name: request.name, password }).await?;
    Ok(rpc::AuthUserAddResponse { header })
}

pub(crate) async fn get_user(
    caller: Caller,
    request: rpc::AuthUserGetRequest,
) -> Result<rpc::AuthUserGetResponse, RpcError> {
    let _undecided = caller.track_undecided_request();
    caller.wait_linearizable().await?;
    if caller.current_user_name().as_ref() != Some(&request.name) {
        caller.check_root()?;
    }
    let header = caller.current_response_header();
    let roles = caller.with_state(|state| {
        let user = state.store.access_control().user(&request.name)?;
        Ok::<_, Error>(user.roles.iter().cloned().collect())
    })?;
    Ok(rpc::AuthUserGetResponse { header, roles })
}

pub(crate) async fn list_users(
    caller: Caller,
    _: rpc::AuthUserListRequest,
) -> Result<rpc::AuthUserListResponse, RpcError> {
    let _undecided = caller.track_undecided_request();
    caller.wait_linearizable().await?;
    caller.check_root()?;
    let header = caller.current_response_header();
    let users =
        caller.with_state(|state| state.store.access_control().user_names().cloned().collect());
    Ok(rpc::AuthUserListResponse { header, users })
}

pub(crate) async fn delete_user(
    caller: Caller,
    request: rpc::AuthUserDeleteRequest,
) -> Result<rpc::AuthUserDeleteResponse, RpcError> {
    let header = change(&caller, AccessChange::DeleteUser { name: request.name }).await?;
    Ok(rpc::AuthUserDeleteResponse { header })
}

pub(crate) async fn change_password(
    caller: Caller,
    request: rpc::AuthUserChangePasswordRequest,
) -> Result<rpc::AuthUserChangePasswordResponse, RpcError> {
    if caller.current_user_name().as_ref() != Some(&request.name) {
        caller.check_root()?;
    }
    let password = hash_password(&caller, request.password).await?;
    let header =
        change(&caller, AccessChange::ChangePassword { name: request.name, password }).await?;
    Ok(rpc::AuthUserChangePasswordResponse { header })
}

pub(crate) async fn grant_role(
    caller: Caller,
    request: rpc::AuthUserGrantRoleRequest,
) -> Result<rpc::AuthUserGrantRoleResponse, RpcError> {
    let rpc::AuthUserGrantRoleRequest { user, role } = request;
    let header = change(&caller, AccessChange::GrantRole { user, role }).await?;
    Ok(rpc::AuthUserGrantRoleResponse { header })
}

pub(crate) async fn revoke_role(
    caller: Caller,
    request: rpc::AuthUserRevokeRoleRequest,
) -> Result<rpc::AuthUserRevokeRoleResponse, RpcError> {
    let rpc::AuthUserRevokeRoleRequest { name: user, role } = request;
    let header = change(&caller, AccessChange::RevokeRole { user, role }).await?;
    Ok(rpc::AuthUserRevokeRoleResponse { header })
}

pub(crate) async fn add_role(
    caller: Caller,
    request: rpc::AuthRoleAddRequest,
) -> Result<rpc::AuthRoleAddResponse, RpcError> {
    let header = change(&caller, AccessChange::AddRole { name: request.name }).await?;
    Ok(rpc::AuthRoleAddResponse { header })
}

/// Returns the permissions of a role. A user may read the user's own roles. Only root may read
/// other roles.
pub(crate) async fn get_role(
    caller: Caller,
    request: rpc::AuthRoleGetRequest,
) -> Result<rpc::AuthRoleGetResponse, RpcError> {
    let _undecided = caller.track_undecided_request();
    caller.wait_linearizable().await?;
    let user = caller.current_user_name();
    let has_role = caller.with_state(|state| {
        let user = user.map(|name| state.store.access_control().user(&name));
        user.is_some_and(|user| user.is_ok_and(|user| user.roles.contains(&request.role)))
    });
    if !has_role {
        caller.check_root()?;
    }
    let header = caller.current_response_header();
    let perm = caller.with_state(|state| {
        let role = state.store.access_control().role_permissions(&request.role)?;
        Ok::<_, Error>(role.iter().map(|(span, rights)| permission(span, *rights)).collect())
    })?;
    Ok(rpc::AuthRoleGetResponse { header, perm })
}

pub(crate) async fn list_roles(
    caller: Caller,
    _: rpc::AuthRoleListRequest,
) -> Result<rpc::AuthRoleListResponse, RpcError> {
    let _undecided = caller.track_undecided_request();
    caller.wait_linearizable().await?;
    caller.check_root()?;
    let header = caller.current_response_header();
    let roles =
        caller.with_state(|state| state.store.access_control().role_names().cloned().collect());
    Ok(rpc::AuthRoleListResponse { header, roles })
}

pub(crate) async fn delete_role(
    caller: Caller,
    request: rpc::AuthRoleDeleteRequest,
) -> Result<rpc::AuthRoleDeleteResponse, RpcError> {
    let header = change(&caller, AccessChange::DeleteRole { name: request.role }).await?;
    Ok(rpc::AuthRoleDeleteResponse { header })
}

pub(crate) async fn grant_permission(
    caller: Caller,
    request: rpc::AuthRoleGrantPermissionRequest,
) -> Result<rpc::AuthRoleGrantPermissionResponse, RpcError> {
    let given = request.perm.ok_or(RpcError::PERMISSION_MISSING)?;
    let permission = match Type::try_from(given.perm_type) {
        Ok(Type::Read) => Permission::Read,
        Ok(Type::Write) => Permission::Write,
        Ok(Type::Readwrite) => Permission::ReadWrite,
        // An unknown permission type is rejected. By default, it would become the right to read.
        Err(_) => return Err(RpcError::PERMISSION_MISSING),
    };
    let span = span(given.key, given.range_end);
    // Such a permission would apply to no key, or to other keys than the ones that were meant.
    if span.key.is_empty() || span.is_empty() {
        return Err(RpcError::INVALID_PERMISSION_RANGE);
    }
    let header =
        change(&caller, AccessChange::Grant { role: request.name, span, permission }).await?;
    Ok(rpc::AuthRoleGrantPermissionResponse { header })
}

pub(crate) async fn revoke_permission(
    caller: Caller,
    request: rpc::AuthRoleRevokePermissionRequest,
) -> Result<rpc::AuthRoleRevokePermissionResponse, RpcError> {
    let span = span(request.key, request.range_end);
    let header = change(&caller, AccessChange::Revoke { role: request.role, span }).await?;
    Ok(rpc::AuthRoleRevokePermissionResponse { header })
}

fn permission(span: &KeySpan, rights: Permission) -> authpb::Permission {
    let kind = match rights {
        Permission::Read => Type::Read,
        Permission::Write => Type::Write,
        Permission::ReadWrite => Type::Readwrite,
    };
    let (key, range_end) = (span.key.to_vec(), span.end.to_vec());
    authpb::Permission { perm_type: kind.into(), key, range_end }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt;
    use tenure_store::{Principal, ROOT_NAME};

    use super::*;
    use crate::auth::caller::tests::member_with_users;

    fn request(password: &str) -> rpc::AuthenticateRequest {
        rpc::AuthenticateRequest { name: ROOT_NAME.into(), password: password.into() }
    }

    #[tokio::test]
    async fn rejects_unknown_permission_type() {
        let (_folder, member) = member_with_users("secret").await;
        let member = Caller::new(member, Principal::Member);
        change(&member, AccessChange::AddRole { name: "jobs".into() }).await.expect("a change");
        let granted = async |perm_type| {
            let perm = Some(authpb::Permission { perm_type, key: b"a".into(), range_end: vec![] });
            let request = rpc::AuthRoleGrantPermissionRequest { name: "jobs".into(), perm };
            grant_permission(member.clone(), request).await.map(drop)
        };
        assert_eq!(granted(9).await, Err(RpcError::PERMISSION_MISSING));
        assert_eq!(granted(Type::Write.into()).await, Ok(()));
    }

    #[tokio::test]
    async fn rejects_permission_without_keys() {
        let (_folder, member) = member_with_users("secret").await;
        let member = Caller::new(member, Principal::Member);
        change(&member, AccessChange::AddRole { name: "jobs".into() }).await.expect("a change");
        let granted = async |key: &str, range_end: &str| {
            let (key, range_end) = (key.into(), range_end.into());
            let perm = Some(authpb::Permission { perm_type: Type::Read.into(), key, range_end });
            let request = rpc::AuthRoleGrantPermissionRequest { name: "jobs".into(), perm };
            grant_permission(member.clone(), request).await.map(drop)
        };
        for (key, end) in [("b", "a"), ("a", "a"), ("", ""), ("", "\0"), ("", "a")] {
            let rejected = Err(RpcError::INVALID_PERMISSION_RANGE);
            assert_eq!(granted(key, end).await, rejected, "{key:?}..{end:?}");
        }
        for (key, end) in [("a", ""), ("a", "b"), ("a", "\0"), ("\0", "\0")] {
            assert_eq!(granted(key, end).await, Ok(()), "{key:?}..{end:?}");
        }
    }

    #[tokio::test]
    async fn password_is_verified_against_the_current_hash() {
        let (_folder, member) = member_with_users("old").await;
        let member = Caller::new(member, Principal::Member);
        let (resume, paused) = mpsc::channel::<()>();
        let mut other = Box::pin(member.password_hasher.run(move |_| paused.recv().is_ok()));
        assert!((&mut other).now_or_never().is_none());
        let old = tokio::spawn(authenticate(member.clone(), request("old")));
        let new = tokio::spawn(authenticate(member.clone(), request("new")));
        member.password_hasher.wait_until_queued(2).await;
        let (name, password) =
            (ROOT_NAME.into(), secrets::hash_password("new", &mut PasswordHashBuffer::default()));
        change(&member, AccessChange::ChangePassword { name, password }).await.expect("a change");
        resume.send(()).expect("the work waits");
        assert_eq!(other.await, Ok(true));
        assert_eq!(old.await.expect("an end"), Err(RpcError::AUTH_FAILED));
        assert!(new.await.expect("an end").is_ok());
    }
}
