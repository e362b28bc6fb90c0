"""Provides a store as an HTTP service: whorl's own routes, and routes in Alfresco's format."""
