sacct -P -j 4 --format=JobID,JobIDRaw,JobName,User,Account,Partition,QOS,State,ExitCode,DerivedExitCode,Reason,Submit,Start,End,ElapsedRaw,TimelimitRaw,NNodes,NTasks,AllocCPUS,NodeList
