PRAGMA application_id = 1212765271;
PRAGMA user_version = 1;
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
INSERT INTO "calls" VALUES(1,'call_1','run_1','run_1','turn_1',0,'delete_record','waiting',NULL,NULL,'{"id":"abc-123"}',NULL,NULL,'{"args":{"id":"abc-123"},"agent_path":["agent"],"effect":"unknown","allowed":["approve","decline"],"evaluation":null,"message":null,"suspend_payload":null,"resume_schema":null,"input_schema":null,"secrets":[],"digests":{},"scope":{"schema_digest":"sd"},"origin":{},"turn":null,"declined_before":0,"on_expire":"decline","resumable":true,"quorum":1,"reviewers":null,"votes":[],"decision":null,"reviewer":null,"identity_source":null,"via":null,"kind":"approval"}','{"provider_id":null,"permission":"allow","evaluation":null,"notes":{}}');
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
INSERT INTO "events" VALUES(1,1.79607489757245922081e+09,'run-started','run_1',NULL,NULL,'{"agent_id":"agent","run_kind":"agent","origin":{},"owner":"example/b007/4026531836/10695/235870/f887ed70a1b898c9203964b60d3ea970"}','f627449db5afa3b6486441dd5d75c0a9a0ae672e6342421350c6843a02dd9e13');
INSERT INTO "events" VALUES(2,1.79607489759138298033e+09,'run-saved','run_1',NULL,NULL,'{"state":"suspended","frames":[]}','3064f5e5bc448063502d2927eb6bb53e1414a7811bf334e4581d12ecdbf64b38');
INSERT INTO "events" VALUES(3,1.79607489759138298033e+09,'opened','run_1','req_1','call_1','{"tool_name":"delete_record","kind":"approval","fingerprint":"hf1:asshown","agent_id":"agent","origin":{},"args":{"id":"abc-123"}}','74a53277d4f1082b9d7dd4134e57c3f620efa6ebfa15033cc72a7759a8ed12c9');
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
INSERT INTO "meta" VALUES('audit_end','3 74a53277d4f1082b9d7dd4134e57c3f620efa6ebfa15033cc72a7759a8ed12c9');
INSERT INTO "meta" VALUES('secret_key','57926537167351751ea7cd4bbca2cd0d7e8b8d39827266d9d491d744b5806945');
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
INSERT INTO "requests" VALUES(1,'req_1','run_1','call_1',0,'approval','delete_record','hf1:asshown','pending','agent',NULL,NULL,1.79607489759119296076e+09,NULL,NULL,'{"args":{"id":"abc-123"},"agent_path":["agent"],"effect":"unknown","allowed":["approve","decline"],"evaluation":null,"message":null,"suspend_payload":null,"resume_schema":null,"input_schema":null,"secrets":[],"digests":{},"scope":{"schema_digest":"sd"},"origin":{},"turn":null,"declined_before":0,"on_expire":"decline","resumable":true,"quorum":1,"reviewers":null,"votes":[],"decision":null,"reviewer":null,"identity_source":null,"via":null}');
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
INSERT INTO "runs" VALUES(1,'run_1','agent','agent',NULL,NULL,NULL,NULL,NULL,'suspended','example/b007/4026531836/10695/235870/f887ed70a1b898c9203964b60d3ea970','lease',1,0,1.79607489756050300597e+09,1.79607489759138298033e+09,NULL,'{}');
CREATE TABLE "snapshots" (key TEXT PRIMARY KEY, value BLOB);
INSERT INTO "snapshots" VALUES('run_1','{"messages":["hello"]}');
CREATE INDEX frames_run ON frames(run_id);
CREATE INDEX runs_state ON runs(state);
CREATE INDEX runs_agent ON runs(agent_id, state);
CREATE INDEX runs_thread ON runs(thread_id, state);
CREATE INDEX runs_resource ON runs(resource_id, state);
CREATE INDEX runs_notebook ON runs(notebook, state);
CREATE INDEX runs_owner ON runs(owner);
CREATE INDEX runs_key ON runs(agent_id, key);
CREATE INDEX calls_run ON calls(run_id);
CREATE INDEX calls_owner ON calls(state, owner);
CREATE UNIQUE INDEX requests_living ON requests(tool_call_id, ordinal) WHERE state IN
        ('pending', 'approved', 'answered', 'executing', 'parked', 'outcome_unknown');
CREATE INDEX requests_state ON requests(state);
CREATE INDEX requests_run ON requests(run_id, state);
CREATE INDEX requests_call ON requests(tool_call_id, state);
CREATE INDEX requests_agent ON requests(agent_id, state);
CREATE INDEX requests_thread ON requests(thread_id, state);
CREATE INDEX requests_resource ON requests(resource_id, state);
CREATE INDEX requests_fingerprint ON requests(fingerprint, state);
CREATE INDEX requests_due ON requests(state, expires_at);
CREATE INDEX events_run ON events(run_id);
CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE INDEX grants_tool ON grants(tool_name);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',1);
INSERT INTO "sqlite_sequence" VALUES('events',3);
INSERT INTO "sqlite_sequence" VALUES('calls',1);
INSERT INTO "sqlite_sequence" VALUES('requests',1);
COMMIT;
