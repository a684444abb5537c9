sacct -P -j 13 --format=JobID,JobIDRaw,JobName,User,Account,Partition,QOS,State,ExitCode,DerivedExitCode,Reason,Submit,Start,End,ElapsedRaw,TimelimitRaw,NNodes,NTasks,AllocCPUS,NodeList
