-- -*- lua -*-
-- Module file created by spack (https://github.com/spack/spack) on 2026-11-28 20:30:24.014186
--
-- fio@3.37~doc~gui+libaio build_system=autotools arch=linux-debian12-x86_64/eb4iu7b
--

whatis([[Name : fio]])
whatis([[Version : 3.37]])
whatis([[Target : x86_64]])
whatis([[Short description : Flexible I/O Tester.]])
whatis([[Configure options : --disable-native]])

help([[Name   : fio]])
help([[Version: 3.37]])
help([[Target : x86_64]])
help()
help([[Flexible I/O Tester. Fio spawns a number of threads or processes doing a
particular type of I/O action as specified by the user. fio takes a
number of global parameters, each inherited by the thread unless
otherwise parameters given to them overriding that setting is given.]])


depends_on("seatrial/mpich/4.0.2")

prepend_path("PATH", "/opt/seatrial/opt/linux-x86_64/fio-3.37-eb4iu7bg2jajiiijumrw5nldtvcdtxpe/bin", ":")
prepend_path("MANPATH", "/opt/seatrial/opt/linux-x86_64/fio-3.37-eb4iu7bg2jajiiijumrw5nldtvcdtxpe/man", ":")
prepend_path("CMAKE_PREFIX_PATH", "/opt/seatrial/opt/linux-x86_64/fio-3.37-eb4iu7bg2jajiiijumrw5nldtvcdtxpe/.", ":")
setenv("FIO_ROOT", "/opt/seatrial/opt/linux-x86_64/fio-3.37-eb4iu7bg2jajiiijumrw5nldtvcdtxpe")
append_path("MANPATH", "", ":")

