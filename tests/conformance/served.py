"""What a sidecar serves, as the suites ask for it. Their scopes are acme/shop, acme/blog and other/shop."""

from sidemirror_server.vocabulary.scope import serves_listed

# One project of a tenant, all of its projects, and two entries which leave out acme/shop.
SHOP, ACME, REST = serves_listed("acme/shop"), serves_listed("acme/*"), serves_listed("other/*, acme/blog")
