import sys,json,time,os
import numpy as np
os.chdir('/tmp/spa')
from shorthaul import spatial
m=dict(name='m',source='made up',grid=dict(width=40,height=40),processor=dict(memory_bytes=64),network=dict())
json.dump(m,open('wt.json','w'))
n=1500
for w in ('1','100','mix'):
    wt=np.full(n,int(w)) if w!='mix' else np.random.default_rng(1).choice([1,3,30,300],n)
    wt.astype(np.int32).tofile('x'); open('wt.txt','w').write('\n'.join(map(str,wt))+'\n')
    for e in (0.3,1,3):
        r=spatial.plan('random-recursive:n=%d,seed=3'%n,machine='wt.json',per_processor=1,weights='wt.txt',baselines=False,effort=e,seed=1)
        print(w,e,int(r.cost['energy_hops'])/wt.mean(),flush=True)
