PRAGMA application_id = 1212765271;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE calls (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        run_id TEXT NOT NULL,
        frame TEXT NOT NULL,
        turn TEXT NOT NULL,
        place INTEGER NOT NULL,
        tool_name TEXT NOT NULL,
        state TEXT NOT NULL,
        owner TEXT,
        token TEXT,
        args TEXT NOT NULL,
        data TEXT,
        result TEXT,
        template TEXT NOT NULL,
        doc TEXT NOT NULL);
INSERT INTO "calls" VALUES(1,'call_1','run_1','run_1','turn_1',0,'delete_record','waiting',NULL,NULL,'{"id":"abc-123"}',NULL,NULL,'{"args":{"id":"abc-123"},"agent_path":["agent"],"effect":"unknown","allowed":["approve","decline"],"evaluation":null,"message":null,"suspend_payload":null,"resume_schema":null,"input_schema":null,"secrets":[],"digests":{},"scope":{"schema_digest":"sd"},"origin":{},"turn":null,"declined_before":0,"on_expire":"decline","resumable":true,"quorum":1,"reviewers":null,"votes":[],"decision":null,"reviewer":null,"identity_source":null,"via":null,"preview":null,"reads":{},"kind":"approval"}','{"provider_id":null,"permission":"allow","evaluation":null,"notes":{}}');
CREATE TABLE documents (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        run_id TEXT,
        request_id TEXT,
        call_id TEXT,
        doc TEXT NOT NULL,
        hash TEXT NOT NULL);
INSERT INTO "events" VALUES(1,1.79608941259515786175e+09,'run-started','run_1',NULL,NULL,'{"agent_id":"agent","run_kind":"agent","origin":{},"owner":"example/b007/4026531836/11410/469830/2a9809b02e7d07b7017de378e141cfed"}','821ae5df61e5f0126fd9166d8571893fd3a9f8b9ec0e89033e7588c5c578ae21');
INSERT INTO "events" VALUES(2,1.79608941261934876437e+09,'run-saved','run_1',NULL,NULL,'{"state":"suspended","frames":[]}','b66c2e926d9dc1dfcc8985b09152d64e8c54195afbb30bc70f2e54e96e92187b');
INSERT INTO "events" VALUES(3,1.79608941261934876437e+09,'opened','run_1','req_1','call_1','{"tool_name":"delete_record","kind":"approval","fingerprint":"hf1:asshown","agent_id":"agent","origin":{},"args":{"id":"abc-123"}}','87e9b406d3e77d9668e9dc21a67523e37de86ae533311f7f6a4250753807d1c8');
CREATE TABLE frames (key TEXT PRIMARY KEY NOT NULL, run_id TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "frames" VALUES('run_1','run_1');
CREATE TABLE grants (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        tool_name TEXT NOT NULL,
        expires_at REAL,
        revoked_at REAL,
        doc TEXT NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('audit_end','3 87e9b406d3e77d9668e9dc21a67523e37de86ae533311f7f6a4250753807d1c8');
INSERT INTO "meta" VALUES('secret_key','f1bf33756ffe852ee9d00f577d5973454cb889f01995b8ae93c38e40cbdcac96');
CREATE TABLE requests (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        run_id TEXT NOT NULL,
        tool_call_id TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        kind TEXT NOT NULL,
        tool_name TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        state TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        thread_id TEXT,
        resource_id TEXT,
        created_at REAL NOT NULL,
        expires_at REAL,
        decided_at REAL,
        doc TEXT NOT NULL);
INSERT INTO "requests" VALUES(1,'req_1','run_1','call_1',0,'approval','delete_record','hf1:asshown','pending','agent',NULL,NULL,1.79608941261918210983e+09,NULL,NULL,'{"args":{"id":"abc-123"},"agent_path":["agent"],"effect":"unknown","allowed":["approve","decline"],"evaluation":null,"message":null,"suspend_payload":null,"resume_schema":null,"input_schema":null,"secrets":[],"digests":{},"scope":{"schema_digest":"sd"},"origin":{},"turn":null,"declined_before":0,"on_expire":"decline","resumable":true,"quorum":1,"reviewers":null,"votes":[],"decision":null,"reviewer":null,"identity_source":null,"via":null,"preview":null,"reads":{}}');
CREATE TABLE runs (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        key TEXT,
        key_digest TEXT,
        thread_id TEXT,
        resource_id TEXT,
        notebook TEXT,
        state TEXT NOT NULL,
        owner TEXT,
        token TEXT,
        resumable INTEGER NOT NULL,
        delivered INTEGER NOT NULL DEFAULT 0,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        outcome TEXT,
        origin TEXT NOT NULL);
INSERT INTO "runs" VALUES(1,'run_1','agent','agent',NULL,NULL,NULL,NULL,NULL,'suspended','example/b007/4026531836/11410/469830/2a9809b02e7d07b7017de378e141cfed','lease',1,0,1.79608941255287790301e+09,1.79608941261934876437e+09,NULL,'{}');
CREATE TABLE "snapshots" (key TEXT PRIMARY KEY, value BLOB);
INSERT INTO "snapshots" VALUES('run_1','{"messages":["hello"]}');
CREATE INDEX frames_run ON frames(run_id);
CREATE INDEX runs_state ON runs(state);
CREATE INDEX runs_agent ON runs(agent_id, state);
CREATE INDEX calls_run ON calls(run_id);
CREATE UNIQUE INDEX requests_living ON requests(tool_call_id, ordinal) WHERE state IN
        ('pending', 'approved', 'answered', 'executing', 'parked', 'outcome_unknown');
CREATE INDEX requests_state ON requests(state);
CREATE INDEX requests_agent ON requests(agent_id, state);
CREATE INDEX events_run ON events(run_id);
CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE INDEX grants_tool ON grants(tool_name);
CREATE INDEX runs_thread ON runs(thread_id, state) WHERE thread_id IS NOT NULL;
CREATE INDEX runs_resource ON runs(resource_id, state) WHERE resource_id IS NOT NULL;
CREATE INDEX runs_notebook ON runs(notebook, state) WHERE notebook IS NOT NULL;
CREATE INDEX runs_owner ON runs(owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_key ON runs(agent_id, key) WHERE key IS NOT NULL;
CREATE INDEX calls_owner ON calls(owner) WHERE owner IS NOT NULL;
CREATE INDEX requests_run ON requests(run_id);
CREATE INDEX requests_call ON requests(tool_call_id);
CREATE INDEX requests_fingerprint ON requests(fingerprint);
CREATE INDEX requests_thread ON requests(thread_id, state) WHERE thread_id IS NOT NULL;
CREATE INDEX requests_resource ON requests(resource_id, state) WHERE resource_id IS NOT NULL;
CREATE INDEX requests_due ON requests(state, expires_at) WHERE expires_at IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',1);
INSERT INTO "sqlite_sequence" VALUES('events',3);
INSERT INTO "sqlite_sequence" VALUES('calls',1);
INSERT INTO "sqlite_sequence" VALUES('requests',1);
COMMIT;
