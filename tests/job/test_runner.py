"""The runner where nothing fails."""
import time
def test_it(lab, stub_fio, short_launches):
    t=time.time()
    ran = lab.run(lab.plan(stub_fio()))
    print(time.time()-t)
    print(ran.end, [ (s.stage, s.operation, s.point, s.elapsed_s, s.findings) for s in ran.records.samples])
    print(ran.result)
    assert 0
