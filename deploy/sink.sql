create extension if not exists postgis;
create table if not exists "features" (
	"id" text primary key,
	"geom" geometry constraint "enforce_srid_geom" check (st_srid("geom") = 4326),
	"properties" jsonb not null
);
create index if not exists "features_geom" on "features" using gist ("geom");
create table if not exists "features_switchback" (
	key text primary key,
	number bigint not null,
	source_offset bigint not null,
	deleted boolean not null,
	delete_offset bigint not null,
	content_hash text not null,
	source text not null,
	written_at timestamp with time zone not null
) with (fillfactor = 70);
comment on table "features_switchback" is 'Switchback: which event was written last for each key of "features". Without it an older event could come back.';
