-- Placeholder: the number belongs to a migration of another branch, which replaces this file.
SELECT 1;
